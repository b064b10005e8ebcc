"""How the nodes are doing: `tocsin metrics` and `health`."""

from __future__ import annotations

from typing import Annotated

import typer

from ...ports.reports import HealthStatus, Period
from .exits import ExitCode
from .node_views import health_facts, metrics_facts
from .session import Session, remote


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("metrics")(remote(metrics, watchable=True))
    app.command("health")(remote(health, watchable=True))


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
