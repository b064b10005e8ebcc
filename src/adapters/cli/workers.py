"""`tocsin workers`: the nodes, and taking one out of work."""

from __future__ import annotations

import typer

from ...ports.stores import Worker
from .documents import listing
from .node_views import worker_list
from .options import WorkerArgument
from .session import Session, remote, when_alone


def register(workers: typer.Typer) -> None:
    """Add the commands, the first of which is what the group does by itself."""
    workers.callback(invoke_without_command=True)(when_alone(remote(list_workers, watchable=True)))
    workers.command("drain")(remote(drain))
    workers.command("resume")(remote(resume))


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
