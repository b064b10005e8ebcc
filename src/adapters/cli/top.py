"""`tocsin top`: what runs, what is due, how much and how late, on one screen that keeps up."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Final
from uuid import UUID

import typer
from rich.live import Live

from ...domain.errors import InvalidInput, Unavailable
from ...domain.execution import ExecutionStatus
from ...ports.queries import ExecutionFilter
from ...ports.reports import Period
from ...ports.scheduler import IScheduler
from .keys import pressed_keys
from .output import plain_console
from .place import without_password
from .references import job_names
from .session import Session, remote
from .top_view import Screen, Seen, draw

AHEAD: Final = timedelta(hours=1)
EVERY_BOUNDS: Final = (0.5, 3600.0)

_RUNNING_SHOWN: Final = 50
_FIRES_SHOWN: Final = 50


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("top")(remote(top))


async def top(
    session: Session,
    *,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to look, 0.5 to 3600.")] = 2.0,
) -> None:
    """
    Show what runs and what is due, live.

    With throughput and lateness of the last hour, and the nodes. Needs a terminal. Keys: q ends it, p holds it still
    and has it go on.
    """
    lowest, highest = EVERY_BOUNDS
    if not lowest <= every <= highest:
        raise InvalidInput.of("every", f"must be between {lowest} and {highest:.0f} seconds")
    if not (session.output.for_people and sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput.of(
            "top", "needs a terminal; `tocsin metrics --json` and `tocsin watch --json` tell the same to a pipe"
        )
    screen = Screen(server=without_password(session.place.address()))
    with Live(console=plain_console(), screen=True, auto_refresh=False) as live, pressed_keys() as keys:
        async with session.connect() as scheduler:
            while not screen.is_over:
                if not screen.is_held:
                    screen = await _looked(scheduler, screen)
                live.update(draw(screen, session.now, width=live.console.width), refresh=True)
                screen = screen.after(await _key(keys, None if screen.is_held else every))


async def _key(keys: asyncio.Queue[str], patience: float | None) -> str | None:
    """Wait for a key; None if none was pressed for so many seconds."""
    try:
        async with asyncio.timeout(patience):
            return await keys.get()
    except TimeoutError:
        return None


async def _looked(scheduler: IScheduler, screen: Screen) -> Screen:
    """Look again; while no answer comes, what was seen last stays there, with the reason."""
    try:
        seen = await _look(scheduler, screen.seen.names if screen.seen else {})
    except Unavailable as error:
        return replace(screen, trouble=error.message)
    return replace(screen, seen=seen, trouble=None)


async def _look(scheduler: IScheduler, known: Mapping[UUID, str]) -> Seen:
    running = ExecutionFilter(status=(ExecutionStatus.RUNNING,), limit=_RUNNING_SHOWN)
    health, workers, metrics, series, executions, fires = await asyncio.gather(
        scheduler.health_check(),
        scheduler.list_workers(),
        scheduler.get_metrics(Period.HOUR),
        scheduler.get_series(Period.HOUR),
        scheduler.list_executions(running),
        scheduler.list_upcoming(within=AHEAD, limit=_FIRES_SHOWN),
    )
    wanted = {each.job_id for each in executions.items}
    names = {job_id: name for job_id, name in known.items() if job_id in wanted}
    names |= await job_names(scheduler, wanted - names.keys())
    return Seen(
        health=health,
        workers=workers,
        metrics=metrics,
        series=series,
        executions=executions,
        fires=fires,
        names=names,
    )
