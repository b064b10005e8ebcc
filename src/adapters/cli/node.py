"""How the nodes are doing: `tocsin workers`, `metrics` and `health`."""

from __future__ import annotations

from typing import Annotated

import typer

from ...ports.reports import HealthStatus, Period
from .documents import listing
from .exits import ExitCode
from .node_views import health_facts, metrics_facts, worker_list
from .session import Session, remote


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("workers")(remote(workers))
    app.command("metrics")(remote(metrics))
    app.command("health")(remote(health))


async def workers(session: Session) -> None:
    """List the nodes, newest heartbeat first."""
    async with session.connect() as scheduler:
        found = await scheduler.list_workers()
    session.output.show(listing(found), lambda _: worker_list(found))


async def metrics(
    session: Session, *, period: Annotated[Period, typer.Option(help="How far back to look.")] = Period.DAY
) -> None:
    """Show figures over a period, and what waits now."""
    async with session.connect() as scheduler:
        found = await scheduler.get_metrics(period)
    session.output.show(found, metrics_facts)


async def health(session: Session) -> None:
    """
    Show how the node that answers is doing.

    Exits with 1 if it is unhealthy, and with 3 if none answers.
    """
    async with session.connect() as scheduler:
        found = await scheduler.health_check()
    session.output.show(found, health_facts)
    if found.status is HealthStatus.UNHEALTHY:
        raise typer.Exit(ExitCode.FAILED)
