"""`tocsin events test`: what a filter comes to, before a handler is made of it."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.console import RenderableType

from ...domain.event import NewEvent
from ...ports.event_requests import FilterTrial
from .documents import encode
from .inputs import read_json
from .session import Session, remote
from .tables import facts

# \b keeps the lines below it as they are.
TEST_EXAMPLES: Final = """\b
Examples:
  tocsin events test order.created --on 'order.*' --filter 'event.data.total > 100' --data '{"total": 150}'
  tocsin events test tocsin.execution.failed --filter 'event.data.job_key == "a"' --data @fact.json
"""


def register(events: typer.Typer) -> None:
    """Add the command."""
    events.command("test", epilog=TEST_EXAMPLES)(remote(try_filter))


async def try_filter(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the event to try it on.")],
    *,
    on: Annotated[str | None, typer.Option(metavar="PATTERN", help="Such as order.*; else any name matches.")] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="CEL", help="Over `event`; else every event passes.")
    ] = None,
    data: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="What it tells; @- reads stdin.")] = None,
    source: Annotated[str | None, typer.Option(metavar="TEXT", help="Who tells it.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is about.")] = None,
) -> None:
    """Say whether a handler with this pattern and filter would act upon an event; nothing is sent."""
    document = None if data is None else read_json(data, "data")
    sample = NewEvent(name=name, data=document, source=source, subject=subject)
    async with session.connect() as scheduler:
        trial = await scheduler.try_filter(filter_, sample, pattern=on)
    session.output.show(trial, trial_facts)


def trial_facts(trial: FilterTrial) -> RenderableType:
    """Draw what a trial came to."""
    return facts(
        {
            "matches": "yes" if trial.matches else "no",
            "name matches": "yes" if trial.name_matches else "no",
            "filter comes to": encode(trial.result) if trial.error is None else None,
            "error": trial.error,
        }
    )
