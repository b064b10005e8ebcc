"""A job of a file, as the HTTP API names its fields: what is wrong with them, and the definition that they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final

from ...domain.definition import FIELD_NAMES, INTEGER_BOUNDS
from ...domain.errors import FieldError, InvalidInput
from ...domain.job import PRIORITY_NAMES, HandlerType, JobDefinition, JobType
from ...domain.json import Json
from ...domain.schedule import Once
from ...domain.timing import read_schedule, type_of

ENABLED: Final = "enabled"
EXECUTE_AT: Final = "execute_at"
ALLOW_UNKNOWN: Final = "allow_unknown_handler"
JOB_FIELDS: Final = (*FIELD_NAMES, ENABLED, EXECUTE_AT)

_INSTANTS: Final = ("start_date", "end_date")
_NULLABLE: Final = frozenset({"schedule", "payload", "key", "description", "max_executions", EXECUTE_AT, *_INSTANTS})
# What a file holds there may be anything, so that a set would have to refuse it first.
NAMED_BY_TYPE: Final = (HandlerType.HTTP, HandlerType.COMMAND)
"""The types of handlers of which there is one, named as its type."""


def field_faults(given: Mapping[str, Json], known: Sequence[str] = JOB_FIELDS) -> Iterator[FieldError]:
    """Refuse what is unknown, missing, empty, said twice or no switch; bounds are for `domain.definition.validate`."""
    yield from unknown_fields(given, known)
    if given.get(EXECUTE_AT) is not None and given.get("schedule") is not None:
        yield FieldError(EXECUTE_AT, "cannot go with schedule; name one of the two")
    if "handler_name" not in given and given.get("handler_type") not in NAMED_BY_TYPE:
        yield FieldError("handler_name", "is required: that of a function, unless handler_type is http or command")
    for name in (ENABLED, ALLOW_UNKNOWN):
        if not isinstance(given.get(name, True), bool):
            yield FieldError(name, "must be true or false")
    for name in INTEGER_BOUNDS:
        if isinstance(given.get(name), bool):
            yield FieldError(name, "must be a whole number")
    for name in FIELD_NAMES:
        if name in given and given[name] is None and name not in _NULLABLE:
            yield FieldError(name, "is empty; leave it out for its default")


def unknown_fields(given: Mapping[str, Json], known: Sequence[str]) -> Iterator[FieldError]:
    """Refuse what is no field, and say which may be meant."""
    for name in given:
        if name not in known:
            meant = get_close_matches(name, known, n=1)
            hint = f"did you mean {meant[0]}?" if meant else f"expected one of {', '.join(known)}"
            yield FieldError(name, f"is not a known field; {hint}")


def definition_in(given: Mapping[str, Json]) -> JobDefinition:
    """
    Make the definition of a job whose fields have no faults; its bounds are not checked yet.

    Its type, where it is not stated, is that of its schedule, and its handler is named by its type.

    Raises:
        InvalidInput: an instant or the schedule cannot be read.
    """
    fields: dict[str, Any] = {name: value for name, value in given.items() if name in FIELD_NAMES}
    for name in _INSTANTS:
        if fields.get(name) is not None:
            fields[name] = _instant(fields[name], name)
    if given.get(EXECUTE_AT) is not None:
        fields["schedule"] = str(Once(at=_instant(given[EXECUTE_AT], EXECUTE_AT)))
    fields |= {"priority": priority_of(fields["priority"])} if "priority" in fields else {}
    if isinstance(fields.get("tags"), list):
        fields["tags"] = tuple(fields["tags"])
    fields.setdefault("handler_name", str(fields.get("handler_type")))
    if "type" not in fields:
        fields["type"] = type_of_fields(fields)
    return JobDefinition(**fields)


def type_of_fields(fields: Mapping[str, Any]) -> JobType:
    """Tell the type of a job from its schedule, and from whether that has an end."""
    schedule = fields.get("schedule")
    if schedule is None:
        return JobType.EVENT
    return bounded_type(type_of(read_schedule(schedule)), fields)


def bounded_type(kind: JobType, fields: Mapping[str, Any]) -> JobType:
    """Give the type of a job that is of this kind as long as it has no end: a cron or an interval may be recurring."""
    is_bounded = fields.get("end_date") is not None or fields.get("max_executions") is not None
    return JobType.RECURRING if is_bounded and kind in {JobType.CRON, JobType.INTERVAL} else kind


def priority_of(written: Json) -> Json:
    """Give the number that low, medium, high or critical stands for; anything else is itself."""
    return PRIORITY_NAMES.get(written, written) if isinstance(written, str) else written


def _instant(value: object, field: str) -> datetime:
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        instant = None
    if instant is None or instant.utcoffset() is None:
        raise InvalidInput.of(field, f"{value!r} is no instant with its UTC offset, such as 2026-03-01T08:00:00Z")
    return instant
