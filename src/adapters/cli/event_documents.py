"""Event handlers in files, in the shape that the HTTP API takes: what is unknown or of another type is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from ...domain.errors import FieldError, InvalidEventHandler
from ...domain.event import ACTION_TYPES, Action, Call, CreateJob, EventHandlerDefinition
from ...domain.event_documents import handler_from_document
from ...domain.flow import Batch, Debounce, FlowControl, Rate
from ...domain.json import Json
from ...domain.strict_json import read_json
from .inputs import read_text
from .instants import read_length
from .job_documents import priority_of

_LIMITS: Final[Mapping[str, type]] = MappingProxyType(
    {"rate_limit": Rate, "throttle": Rate, "debounce": Debounce, "batch": Batch}
)


def read_handler(file: str) -> EventHandlerDefinition:
    """
    Read a whole definition from a JSON file, or from stdin if it is called `-`.

    Raises:
        InvalidInput: names the fields that are missing, unknown or of another type.
    """
    return handler_in(_object(f"@{file}", "file"))


def read_action(source: str) -> Action:
    """
    Read an action, or the action in `@FILE`.

    Raises:
        InvalidInput: as for `read_handler`.
    """
    return handler_in({"event": "any", "action": _object(source, "action")}).action


def _object(source: str, field: str) -> Mapping[str, Any]:
    try:
        document = read_json(read_text(source, field).encode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise InvalidEventHandler.of(field, str(error)) from None
    if not isinstance(document, Mapping):
        raise InvalidEventHandler.of(field, "must be a JSON object")
    return document


def handler_in(document: Mapping[str, Any]) -> EventHandlerDefinition:
    """
    Read a whole definition from a document.

    Raises:
        InvalidInput: as for `read_handler`.
    """
    if unknown := list(_unknown(document)):
        raise InvalidEventHandler(unknown)
    try:
        return handler_from_document({**document, **_with_number(document), **_with_seconds(document.get("action"))})
    except ValueError as error:
        raise InvalidEventHandler([_fault(str(error))]) from None


def _fault(told: str, path: tuple[str, ...] = ()) -> FieldError:
    """Take apart `field: field: what is wrong`."""
    name, colon, rest = told.partition(": ")
    if colon and name.isidentifier():
        return _fault(rest, (*path, name))
    return FieldError(".".join(path) or "file", told)


def _unknown(document: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _beyond("", document, _names(EventHandlerDefinition) - {"every_tenant"})
    action, flow = document.get("action"), document.get("flow")
    if isinstance(action, Mapping) and (kind := ACTION_TYPES.get(str(action.get("type")))) is not None:
        also = {"type", "delay"} if kind is CreateJob else {"type"}
        # The job of a call is its own, and nobody's to name.
        yield from _beyond("action.", action, (_names(kind) | also) - ({"job_id"} if kind is Call else set()))
    yield from _beyond("flow.", flow, _names(FlowControl))
    if isinstance(flow, Mapping):
        for name, limit in _LIMITS.items():
            yield from _beyond(f"flow.{name}.", flow.get(name), _names(limit))


def _beyond(path: str, document: Json | Mapping[str, Any], known: Iterable[str]) -> Iterator[FieldError]:
    if isinstance(document, Mapping):
        yield from (FieldError(f"{path}{name}", "is not a known field") for name in document if name not in known)


def _names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def _with_number(document: Mapping[str, Any]) -> Mapping[str, object]:
    return {"priority": priority_of(document["priority"])} if "priority" in document else {}


def _with_seconds(action: object) -> Mapping[str, object]:
    """Write the delay of a new job, which may be a length of time as people write it, in seconds."""
    if not isinstance(action, Mapping) or action.get("delay") is None:
        return {}
    if action.get("delay_seconds") is not None:
        raise InvalidEventHandler.of("action.delay_seconds", "cannot go with delay; name one of the two")
    delay = action["delay"]
    seconds = read_length(delay, "action.delay") // timedelta(seconds=1) if isinstance(delay, str) else delay
    return {"action": {**action, "delay_seconds": seconds}}
