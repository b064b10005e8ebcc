"""How the nodes are doing, and taking one out of work: `tocsin workers`, `metrics` and `health`."""

from __future__ import annotations

from typing import Annotated

import typer

from ...ports.reports import HealthStatus, Period
from ...ports.stores import Worker
from .documents import listing
from .exits import ExitCode
from .node_views import health_facts, metrics_facts, worker_list
from .options import WorkerArgument
from .session import Session, remote, when_alone


def register(app: typer.Typer, workers: typer.Typer) -> None:
    """Add the commands."""
    workers.callback(invoke_without_command=True)(when_alone(remote(list_workers, watchable=True)))
    workers.command("drain")(remote(drain))
    workers.command("resume")(remote(resume))
    app.command("metrics")(remote(metrics, watchable=True))
    app.command("health")(remote(health, watchable=True))


async def list_workers(session: Session) -> None:
    """List the nodes, newest heartbeat first."""
    async with session.connect() as scheduler:
        found = await scheduler.list_workers()
    session.output.show(listing(found), lambda _: worker_list(found))


async def drain(session: Session, worker: WorkerArgument) -> None:
    """
    Have a node take no more work, and let what it runs finish.

    It follows within seconds and goes on serving requests; started again, it takes work.
    """
    async with session.connect() as scheduler:
        asked = await scheduler.drain_worker(worker)
    _show(session, asked)


async def resume(session: Session, worker: WorkerArgument) -> None:
    """Have a drained node take work again."""
    async with session.connect() as scheduler:
        asked = await scheduler.resume_worker(worker)
    _show(session, asked)


def _show(session: Session, asked: Worker) -> None:
    session.output.show(asked, lambda worker: worker_list([worker]))
    session.output.note("It follows within seconds; `tocsin workers` shows how far it has come.")


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
