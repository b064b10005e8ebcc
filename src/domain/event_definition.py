"""The bounds of events and of event handlers, and the expressions that a handler is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from .bounds import faults_of_choice, faults_of_flag, faults_of_number, faults_of_text
from .definition import INTEGER_BOUNDS, TEXT_BOUNDS
from .errors import FieldError, InvalidEvent, InvalidEventHandler
from .event import EventHandlerDefinition, EventHandlerMode, EventOrigin, NewEvent
from .event_actions import faults_of_action, kept_action, templates_of
from .flow import Batch, Debounce, FlowControl, Rate
from .json import EVENT_LIMIT, Json, NotStorable, storable
from .patterns import NAME_BOUNDS, is_name, is_pattern, is_reserved
from .templates import placeholders
from .wall_times import FIRST_YEAR, LAST_YEAR

ATTRIBUTES_LIMIT: Final = 64
"""Attributes of one event."""

EVENT_TEXT_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "source": (1, 2048),
    "subject": (1, 2048),
    "idempotency_key": (1, 255),
    "correlation_id": (1, 255),
}
"""Field of an event to (shortest, longest) in characters."""

_EXPRESSION_BOUNDS: Final = (1, 1024)
_ATTRIBUTE: Final = re.compile(r"[a-z0-9_]{1,64}")
_ATTRIBUTE_BOUNDS: Final = (0, 2048)
_LARGEST_NUMBER: Final = 2**53
_WAITING: Final = ("throttle", "debounce", "batch")
_DAY: Final = 86_400
_LIMITS: Final[Mapping[str, tuple[type, Mapping[str, tuple[int, int]]]]] = {
    "rate_limit": (Rate, {"limit": (1, 100_000), "seconds": (1, _DAY)}),
    "throttle": (Rate, {"limit": (1, 100_000), "seconds": (1, _DAY)}),
    "debounce": (Debounce, {"seconds": (1, _DAY)}),
    "batch": (Batch, {"size": (2, 1_000), "seconds": (1, _DAY)}),
}
_DEDUPE_BOUNDS: Final = (1, 30 * _DAY)
_LONGEST_DEBOUNCE: Final = 7 * _DAY


def validate_handler(definition: EventHandlerDefinition) -> EventHandlerDefinition:
    """
    Hold an event handler against every bound that needs neither CEL nor a store; answer it as it is kept.

    Raises:
        InvalidEventHandler: names each field that breaks a bound, and the bound.
    """
    errors = [*_faults_of_handler(definition), *faults_of_action(definition.action), *_faults_of_flow(definition)]
    if errors:
        raise InvalidEventHandler(errors)
    return replace(definition, action=kept_action(definition.action), mode=EventHandlerMode(definition.mode))


def validate_event(event: NewEvent) -> NewEvent:
    """
    Hold an event that somebody publishes against its bounds; answer it as it is kept: data storable.

    Raises:
        InvalidEvent: names each field that breaks a bound, and the bound.
    """
    return _validated(event, [*_faults_of_reserved(event.name), *_faults_of_event(event)])


def validate_sample(event: NewEvent) -> NewEvent:
    """
    Hold an event against its bounds that stands for what may come, Tocsin's own facts among it.

    Raises:
        InvalidEvent: names each field that breaks a bound, and the bound.
    """
    return _validated(event, _faults_of_event(event))


def _validated(event: NewEvent, faults: Iterable[FieldError]) -> NewEvent:
    errors = [*faults, *_faults_of_data(event.data), *_faults_of_attributes(event.attributes)]
    if errors:
        raise InvalidEvent(errors)
    # CloudEvents (JSON format, 2.2): an attribute that is null is one that is not there.
    attributes = {name: value for name, value in event.attributes.items() if value is not None}
    data = storable(event.data, limit=EVENT_LIMIT)
    return replace(event, data=data, attributes=attributes, origin=EventOrigin(event.origin))


def expressions_of(definition: EventHandlerDefinition) -> Iterator[tuple[str, str]]:
    """Give every expression of a definition that has no faults, with the field in which it stands."""
    if definition.filter is not None:
        yield "filter", definition.filter
    if definition.flow.key is not None:
        yield "flow.key", definition.flow.key
    for field, template in templates_of(definition.action).items():
        yield from ((field, expression) for expression in placeholders(template))


def faults_of_pattern(pattern: object) -> Iterator[FieldError]:
    """Say why something is no pattern of an event handler, on field `event`."""
    if not isinstance(pattern, str) or not is_pattern(pattern):
        rule = f"must be a pattern of {NAME_BOUNDS[0]} to {NAME_BOUNDS[1]} characters: segments of letters, digits and"
        yield FieldError("event", f"{rule} _-/@+~, `*` or `**`, split at `.` and `:`")


def _faults_of_handler(definition: EventHandlerDefinition) -> Iterator[FieldError]:
    yield from faults_of_pattern(definition.event)
    for field, bounds in (("name", TEXT_BOUNDS["name"]), ("key", TEXT_BOUNDS["key"]), ("filter", _EXPRESSION_BOUNDS)):
        if (value := getattr(definition, field)) is not None:
            yield from faults_of_text(field, value, bounds)
    yield from faults_of_choice("mode", definition.mode, EventHandlerMode)
    yield from faults_of_number("priority", definition.priority, INTEGER_BOUNDS["priority"])
    yield from faults_of_flag("enabled", definition.enabled)
    yield from faults_of_flag("every_tenant", definition.every_tenant)


def _faults_of_flow(definition: EventHandlerDefinition) -> Iterator[FieldError]:
    flow = definition.flow
    if not isinstance(flow, FlowControl):
        yield FieldError("flow", "must be a flow control")
        return
    if flow.key is not None:
        yield from faults_of_text("flow.key", flow.key, _EXPRESSION_BOUNDS)
    if flow.dedupe_seconds is not None:
        yield from faults_of_number("flow.dedupe_seconds", flow.dedupe_seconds, _DEDUPE_BOUNDS)
    for name in _LIMITS:
        yield from _faults_of_limit(name, getattr(flow, name))
    waiting = [name for name in _WAITING if getattr(flow, name) is not None]
    if len(waiting) > 1:
        yield FieldError("flow", f"takes only one of {', '.join(waiting)}")
    if waiting and definition.mode == EventHandlerMode.SYNC:
        yield FieldError("mode", f"cannot be sync beside {waiting[0]}, because nobody waits that long")


def _faults_of_limit(name: str, limit: object) -> Iterator[FieldError]:
    kind, bounds = _LIMITS[name]
    if limit is None:
        return
    if not isinstance(limit, kind):
        yield FieldError(f"flow.{name}", f"must have {' and '.join(bounds)}")
        return
    faults = [
        fault
        for field, allowed in bounds.items()
        for fault in faults_of_number(f"flow.{name}.{field}", getattr(limit, field), allowed)
    ]
    yield from faults
    if isinstance(limit, Debounce) and limit.max_seconds is not None and not faults:
        allowed = (limit.seconds, _LONGEST_DEBOUNCE)
        yield from faults_of_number(f"flow.{name}.max_seconds", limit.max_seconds, allowed)


def _faults_of_reserved(name: object) -> Iterator[FieldError]:
    if isinstance(name, str) and is_reserved(name):
        yield FieldError("name", "names of this kind are kept for Tocsin's own facts")


def _faults_of_event(event: NewEvent) -> Iterator[FieldError]:
    if not isinstance(event.name, str) or not is_name(event.name):
        rule = f"must have {NAME_BOUNDS[0]} to {NAME_BOUNDS[1]} characters: segments of letters, digits and _-/@+~"
        yield FieldError("name", f"{rule}, split at `.` and `:`")
    for field, bounds in EVENT_TEXT_BOUNDS.items():
        if (value := getattr(event, field)) is not None:
            yield from faults_of_text(field, value, bounds)
    if event.time is not None and not _is_instant(event.time):
        yield FieldError("time", f"must be an instant with its UTC offset, from {FIRST_YEAR} to {LAST_YEAR}")
    yield from faults_of_choice("origin", event.origin, EventOrigin)


def _is_instant(time: object) -> bool:
    if not isinstance(time, datetime) or time.utcoffset() is None:
        return False
    # A day inside, so that no offset leads out.
    return FIRST_YEAR < time.year < LAST_YEAR


def _faults_of_data(data: Json) -> Iterator[FieldError]:
    try:
        storable(data, limit=EVENT_LIMIT)
    except NotStorable as error:
        yield FieldError("data", str(error))


def _faults_of_attributes(attributes: Mapping[str, Json]) -> Iterator[FieldError]:
    if not isinstance(attributes, Mapping) or len(attributes) > ATTRIBUTES_LIMIT:
        yield FieldError("attributes", f"must be an object of at most {ATTRIBUTES_LIMIT} fields")
        return
    for name, value in attributes.items():
        if not isinstance(name, str) or _ATTRIBUTE.fullmatch(name) is None:
            yield FieldError("attributes", "names have 1 to 64 lower-case letters, digits and _")
            continue
        yield from _faults_of_attribute(f"attributes.{name}", value)


def _faults_of_attribute(field: str, value: object) -> Iterator[FieldError]:
    match value:
        case None | bool():
            return
        case str():
            yield from faults_of_text(field, value, _ATTRIBUTE_BOUNDS)
        case int() | float() if abs(value) <= _LARGEST_NUMBER:
            return
        case _:
            yield FieldError(field, "must be a text, a number up to 2^53, true or false")
