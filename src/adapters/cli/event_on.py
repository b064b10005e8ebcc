"""`tocsin events on`: adding a standing rule about events."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

import typer

from ...domain.errors import InvalidEventHandler, InvalidInput
from ...domain.event import EventHandlerDefinition
from ...domain.flow import FlowControl
from ...ports.conflicts import OnConflict
from .event_definitions import Deed, Limits
from .event_documents import read_handler
from .event_options import About
from .event_views import handler_facts
from .exits import EVENT_HANDLER_ADVICE
from .references import find_job
from .session import Session, remote

# \b keeps the lines below it as they are.
ON_EXAMPLES: Final = """\b
Examples:
  tocsin events on 'order.*' --filter 'event.data.total > 100' --call reports.large_order
  tocsin events on ticket.opened --delay 48h --create-job '{"name": "escalate {{ event.data.ticket }}",
    "key": "escalate-{{ event.data.ticket }}", "handler_name": "support.escalate"}'
  tocsin events on ticket.resolved --cancel-key 'escalate-{{ event.data.ticket }}'
  tocsin events on 'page.*' --debounce 10s --flow-key event.subject --call-url https://example.com/refresh
  tocsin events on --file handler.json --on-conflict replace
"""


def register(events: typer.Typer) -> None:
    """Add the command."""
    events.command("on", epilog=ON_EXAMPLES)(remote(on, advice=EVENT_HANDLER_ADVICE))


async def on(
    session: Session,
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="order.created; order.* and order.** stand for more.")
    ] = None,
    *,
    deed: Deed,
    about: About,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add it, but do not act yet.")] = False,
    limits: Limits,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="All of it as JSON, as the HTTP API takes it; - reads stdin.")
    ] = None,
    on_conflict: Annotated[OnConflict, typer.Option(help="What to do when the key is taken.")] = OnConflict.ERROR,
) -> None:
    """
    Add an event handler: this event, this filter, this action.

    Texts of the action may hold {{ ... }} with CEL over event.
    """
    said = about.given()
    said |= {"enabled": False} if disabled else {}
    if file is not None and (pattern is not None or said or deed != Deed() or limits != Limits()):
        raise InvalidInput.of("file", "says everything; no pattern or other options go with it, but for --on-conflict")
    definition = None if file is None else read_handler(file)
    if definition is None and pattern is None:
        raise InvalidEventHandler.of("event", "is required: a pattern such as order.*; or --file with all of it")
    flow = FlowControl(**limits.given())
    async with session.connect() as scheduler:
        if definition is None:
            job_id = None if deed.run_job is None else await find_job(scheduler, deed.run_job)
            definition = EventHandlerDefinition(
                **cast("Any", {"event": pattern, "flow": flow} | said), action=deed.read(job_id)
            )
        handler = await scheduler.on_event(definition, on_conflict=on_conflict)
    session.output.show(handler, handler_facts)
