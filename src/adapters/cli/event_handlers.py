"""`tocsin events handlers`: the standing rules about events, what came of them, and changing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, cast
from uuid import UUID

import typer

from ...domain.errors import FieldError, InvalidEventHandler, InvalidInput
from ...domain.event import EventHandler
from ...ports.event_requests import EventHandlerChanges
from ...ports.queries import EventHandlerFilter
from ...ports.scheduler import IScheduler
from .confirmation import confirm
from .event_definitions import Limits
from .event_documents import read_action
from .event_options import About, ExpectedOption
from .event_views import handler_facts, handler_list
from .exits import EVENT_HANDLER_ADVICE
from .options import EventHandlerArgument, LimitOption, OffsetOption, YesOption
from .references import find_event_handler
from .session import Session, querying, remote

_LIMITS: Final = ("key", "dedupe_seconds", "rate_limit", "throttle", "debounce", "batch")
_CLEARABLE: Final = ("name", "key", "filter", *(f"flow.{name}" for name in _LIMITS))


def register(handlers: typer.Typer) -> None:
    """Add the commands."""
    for name, reading in (("list", querying(list_handlers)), ("show", show)):
        handlers.command(name)(remote(reading, advice=EVENT_HANDLER_ADVICE, watchable=True))
    for name, changing in (("update", update), ("enable", enable), ("disable", disable), ("remove", remove)):
        handlers.command(name)(remote(changing, advice=EVENT_HANDLER_ADVICE))


async def list_handlers(
    session: Session,
    *,
    event: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Only of this very pattern; repeatable.")
    ] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Only those that act, or do not.")
    ] = None,
    limit: LimitOption = 50,
    offset: OffsetOption = None,
) -> None:
    """List event handlers with what came of them, those that act first first."""
    query = EventHandlerFilter(event=tuple(event or ()), enabled=enabled, limit=limit, offset=offset)
    async with session.connect() as scheduler:
        page = await scheduler.list_event_handlers(query)
    session.output.show_page(page, handler_list)


async def show(session: Session, handler: EventHandlerArgument) -> None:
    """Show all of an event handler, with its counters."""
    async with session.connect() as scheduler:
        found = await scheduler.get_event_handler(await find_event_handler(scheduler, handler))
    session.output.show(found, handler_facts)


async def update(
    session: Session,
    handler: EventHandlerArgument,
    *,
    event: Annotated[str | None, typer.Option(metavar="PATTERN", help="For these events instead.")] = None,
    action: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="What it does instead, as the HTTP API takes it.")
    ] = None,
    about: About,
    limits: Limits,
    unset: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Empty this field, such as filter or flow.batch; repeatable."),
    ] = None,
    expected_version: ExpectedOption = None,
) -> None:
    """
    Change an event handler.

    What is not named stays as it is.
    """
    changes = about.given() | ({} if event is None else {"event": event})
    changes |= {} if action is None else {"action": read_action(action)}
    limited = {f"flow.{field}": value for field, value in limits.given().items()}
    emptied = _emptied(unset or ())
    if twice := sorted(emptied.keys() & (changes.keys() | limited.keys())):
        raise InvalidEventHandler.of(twice[0], "is both set and emptied")
    every = changes | limited | emptied
    if not every:
        raise InvalidInput.of("handler", "name a change, such as --priority high or --unset filter")
    async with session.connect() as scheduler:
        handler_id = await find_event_handler(scheduler, handler)
        changed = await _changed(scheduler, handler_id, every, expected_version)
    session.output.show(changed, handler_facts)


async def enable(session: Session, handler: EventHandlerArgument, *, expected_version: ExpectedOption = None) -> None:
    """Have an event handler act again."""
    await _switch(session, handler, enabled=True, expected_version=expected_version)


async def disable(session: Session, handler: EventHandlerArgument, *, expected_version: ExpectedOption = None) -> None:
    """Have an event handler act upon nothing; what it holds is dropped."""
    await _switch(session, handler, enabled=False, expected_version=expected_version)


async def remove(session: Session, handler: EventHandlerArgument, *, yes: YesOption = False) -> None:
    """Remove an event handler with what it holds; the job of its own is deleted with it."""
    async with session.connect() as scheduler:
        handler_id = await find_event_handler(scheduler, handler)
        confirm(f"Remove event handler {handler}, and what of it is held, pending or running?", yes=yes)
        await scheduler.remove_event_handler(handler_id)
    session.output.show({"id": handler_id, "removed": True}, lambda _: f"removed event handler {handler_id}")


async def _switch(session: Session, handler: str, *, enabled: bool, expected_version: int | None) -> None:
    async with session.connect() as scheduler:
        handler_id = await find_event_handler(scheduler, handler)
        changed = await scheduler.update_event_handler(handler_id, expected_version=expected_version, enabled=enabled)
    session.output.show(changed, handler_facts)


async def _changed(
    scheduler: IScheduler, handler_id: UUID, every: Mapping[str, Any], expected_version: int | None
) -> EventHandler:
    """Change the fields; limits are put among those that are there, as long as nobody else changes them meanwhile."""
    changes = {name: value for name, value in every.items() if "." not in name}
    limits = {name.removeprefix("flow."): value for name, value in every.items() if "." in name}
    if limits:
        current = await scheduler.get_event_handler(handler_id)
        changes["flow"] = replace(current.definition.flow, **limits)
        expected_version = current.version if expected_version is None else expected_version
    return await scheduler.update_event_handler(
        handler_id, expected_version=expected_version, **cast("EventHandlerChanges", changes)
    )


def _emptied(names: Iterable[str]) -> dict[str, None]:
    wanted = tuple(names)
    message = f"cannot be emptied; expected one of {', '.join(_CLEARABLE)}"
    if errors := [FieldError(name, message) for name in wanted if name not in _CLEARABLE]:
        raise InvalidEventHandler(errors)
    return dict.fromkeys(wanted)
