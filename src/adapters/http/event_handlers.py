"""What may be done to event handlers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from ...domain.errors import VersionConflict
from ...domain.event import EventHandler
from ...ports.conflicts import OnConflict
from ...ports.queries import EventHandlerFilter
from .answers import json_answer
from .endpoint import Call, Section, endpoint
from .etag import entity_tag
from .wire import BASE
from .wire.event_handlers import EventHandlerIn, EventHandlerOut, EventHandlerPatch
from .wire.model import Nothing
from .wire.pages import EventHandlerPage, page_of
from .wire.queries import ConflictQuery, EventHandlerQuery
from .wire.replays import ReplayIn, ReplayOut
from .wire.trials import FilterTrialIn, FilterTrialOut

_HANDLERS: Final = f"{BASE}/event-handlers"
_HANDLER: Final = f"{_HANDLERS}/{{handler_id}}"


@endpoint(
    "POST",
    _HANDLERS,
    {201: EventHandlerOut, 200: EventHandlerOut},
    conflicts=True,
    refusals=(HTTPStatus.NOT_FOUND,),
)
async def add_event_handler(call: Call[ConflictQuery, EventHandlerIn]) -> web.Response:
    """Add an event handler; 200 when one with its key was replaced or kept."""
    definition = call.body.definition()
    on_conflict = call.query.on_conflict
    existing = set()
    if on_conflict is not OnConflict.ERROR and definition.key is not None:
        query = EventHandlerFilter(key=(definition.key,))
        existing = {handler.id for handler in (await call.scheduler.list_event_handlers(query)).items}
    handler = await call.scheduler.on_event(definition, on_conflict=on_conflict)
    return _answer(handler, status=HTTPStatus.OK if handler.id in existing else HTTPStatus.CREATED)


@endpoint("GET", _HANDLERS, {200: EventHandlerPage})
async def list_event_handlers(call: Call[EventHandlerQuery, Nothing]) -> web.Response:
    """List event handlers, those that act first first."""
    page = await call.scheduler.list_event_handlers(call.query.filter())
    return json_answer(page_of(EventHandlerPage, page, EventHandlerOut.of))


@endpoint("GET", _HANDLER, {200: EventHandlerOut})
async def get_event_handler(call: Call[Nothing, Nothing]) -> web.Response:
    """Read an event handler with its counters."""
    return _answer(await call.scheduler.get_event_handler(call.handler_id))


@endpoint("PATCH", _HANDLER, {200: EventHandlerOut}, conflicts=True, versioned=True)
async def update_event_handler(call: Call[Nothing, EventHandlerPatch]) -> web.Response:
    """Change the named fields of an event handler."""
    handler = await call.scheduler.update_event_handler(
        call.handler_id, expected_version=call.expected_version, **call.body.changes()
    )
    return _answer(handler)


@endpoint("DELETE", _HANDLER, {204: None}, versioned=True)
async def remove_event_handler(call: Call[Nothing, Nothing]) -> web.Response:
    """Remove an event handler with what it still holds, and the job of its own."""
    handler_id, expected = call.handler_id, call.expected_version
    if expected is not None:
        current = (await call.scheduler.get_event_handler(handler_id)).version
        if current != expected:
            raise VersionConflict(expected, current)
    await call.scheduler.remove_event_handler(handler_id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@endpoint("POST", f"{_HANDLER}/replay", {200: ReplayOut})
async def replay_events(call: Call[Nothing, ReplayIn]) -> web.Response:
    """Show past events to an event handler that was registered later; a dry run unless told otherwise."""
    replay = await call.scheduler.replay_events(
        call.handler_id, since=call.body.since, until=call.body.until, dry_run=call.body.dry_run
    )
    return json_answer(ReplayOut.of(replay))


@endpoint("POST", f"{_HANDLERS}/test", {200: FilterTrialOut})
async def try_filter(call: Call[Nothing, FilterTrialIn]) -> web.Response:
    """Say what a pattern and a filter make of an event, without publishing it; faults of theirs are in the answer."""
    body = call.body
    trial = await call.scheduler.try_filter(body.filter, body.sample.event(), pattern=body.event)
    return json_answer(FilterTrialOut.of(trial))


def _answer(handler: EventHandler, *, status: int = HTTPStatus.OK) -> web.Response:
    """Answer an event handler under its version as entity tag."""
    headers = {"ETag": entity_tag(handler.version)}
    if status == HTTPStatus.CREATED:
        headers["Location"] = f"{_HANDLERS}/{handler.id}"
    return json_answer(EventHandlerOut.of(handler), status=status, headers=headers)


EVENT_HANDLERS: Final = Section(
    name="Event handlers",
    endpoints=(
        add_event_handler,
        list_event_handlers,
        get_event_handler,
        update_event_handler,
        remove_event_handler,
        replay_events,
        try_filter,
    ),
)
