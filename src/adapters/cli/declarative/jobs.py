"""One job of a file: from its fields, as the HTTP API names them, to its declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final, TypeAlias, cast

from ....domain.definition import FIELD_NAMES, INTEGER_BOUNDS, document, validate
from ....domain.errors import FieldError, InvalidInput, InvalidJob
from ....domain.job import PRIORITY_NAMES, HandlerType, JobDefinition, JobType
from ....domain.json import Json
from ....domain.ownership import MARK, TAGS
from ....domain.reconciliation import Declaration
from ....domain.schedule import Once
from ....domain.timing import read_schedule, type_of
from ....domain.zones import load_zone

CheckTiming: TypeAlias = Callable[[JobDefinition], None]
"""Raises InvalidSchedule if the fires of a job cannot be computed."""

ENABLED: Final = "enabled"
EXECUTE_AT: Final = "execute_at"
JOB_FIELDS: Final = (*FIELD_NAMES, ENABLED, EXECUTE_AT)

_INSTANTS: Final = ("start_date", "end_date")


def read_job(given: Mapping[str, Json], check: CheckTiming) -> Declaration:
    """
    Read a job; what it does not state has its default, but for `enabled`, which stays as it is.

    Raises:
        InvalidInput: names each field that is missing, unknown or out of bounds.
    """
    faults = [*unknown_fields(given, JOB_FIELDS), *_faults(given)]
    if faults:
        raise InvalidJob(faults)
    definition = validate(_definition(given))
    if definition.type is JobType.EVENT:
        load_zone(definition.timezone)
    elif definition.type is not JobType.ONE_TIME:
        check(definition)
    fields = {name: value for name, value in document(definition).items() if name != "key"}
    stated = {ENABLED: given[ENABLED]} if ENABLED in given else {}
    return Declaration(key=str(given["key"]), handler_name=definition.handler_name, fields={**fields, **stated})


def unknown_fields(given: Mapping[str, Json], known: tuple[str, ...]) -> Iterator[FieldError]:
    """Refuse what is no field, and say which may be meant."""
    for name in given:
        if name not in known:
            meant = get_close_matches(name, known, n=1)
            hint = f"did you mean {meant[0]}?" if meant else f"expected one of {', '.join(known)}"
            yield FieldError(name, f"is not a known field; {hint}")


def key_faults(given: Mapping[str, Json]) -> Iterator[FieldError]:
    """Refuse a declaration that nobody could tell from another."""
    key = given.get("key")
    if key is None:
        yield FieldError("key", "is required: by it the same one is found again")
    elif not isinstance(key, str):
        yield FieldError("key", "must be a text; put it in quotes")


def _faults(given: Mapping[str, Json]) -> Iterator[FieldError]:
    yield from key_faults(given)
    if EXECUTE_AT in given and "schedule" in given:
        yield FieldError(EXECUTE_AT, "cannot go with schedule; name one of the two")
    if not isinstance(given.get(ENABLED, True), bool):
        yield FieldError(ENABLED, "must be true or false")
    for name in INTEGER_BOUNDS:
        if isinstance(given.get(name), bool):
            yield FieldError(name, "must be a whole number")
    for name in given:
        if given[name] is None and name not in {"schedule", "payload", *_NULLABLE}:
            yield FieldError(name, "is empty; leave it out for its default")
    metadata, tags = given.get("metadata"), given.get("tags")
    if isinstance(metadata, Mapping) and MARK in metadata:
        yield FieldError(f"metadata.{MARK}", "is Tocsin's own; give the scope at the top of the file")
    if isinstance(tags, list | tuple) and any(str(tag).startswith(TAGS) for tag in tags):
        yield FieldError("tags", f"those that begin with {TAGS} are Tocsin's own")


_NULLABLE: Final = frozenset({"key", "description", "max_executions", *_INSTANTS})


def _definition(given: Mapping[str, Json]) -> JobDefinition:
    fields: dict[str, Any] = {name: value for name, value in given.items() if name in FIELD_NAMES}
    for name in _INSTANTS:
        if fields.get(name) is not None:
            fields[name] = _instant(fields[name], name)
    if EXECUTE_AT in given:
        fields["schedule"] = str(Once(at=_instant(given[EXECUTE_AT], EXECUTE_AT)))
    if isinstance(fields.get("priority"), str):
        fields["priority"] = PRIORITY_NAMES.get(fields["priority"], fields["priority"])
    if isinstance(fields.get("tags"), list):
        fields["tags"] = tuple(fields["tags"])
    fields.setdefault("name", fields["key"])
    if "type" not in fields:
        fields["type"] = type_of_fields(fields)
    if "handler_name" not in fields:
        fields["handler_name"] = _handler_name(fields)
    if fields["type"] == JobType.ONE_TIME and fields.get("schedule") is not None:
        # However an instant was written, it is kept in one form, so that it is the same again.
        fields["schedule"] = str(read_schedule(fields["schedule"]))
    return JobDefinition(**cast("Any", fields))


def type_of_fields(fields: Mapping[str, Any]) -> JobType:
    """Tell the type of a job from its schedule, and from whether that has an end."""
    schedule = fields.get("schedule")
    if schedule is None:
        return JobType.EVENT
    kind = type_of(read_schedule(schedule))
    is_bounded = fields.get("end_date") is not None or fields.get("max_executions") is not None
    return JobType.RECURRING if is_bounded and kind is not JobType.ONE_TIME else kind


def _handler_name(fields: Mapping[str, Any]) -> str:
    handler_type = fields.get("handler_type", HandlerType.FUNCTION)
    if handler_type in {HandlerType.HTTP, HandlerType.COMMAND}:
        return str(handler_type)
    raise InvalidJob.of("handler_name", "is required: the name of the function, unless handler_type is http or command")


def _instant(value: object, field: str) -> datetime:
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        instant = None
    if instant is None or instant.utcoffset() is None:
        raise InvalidInput.of(field, f"{value!r} is no instant with its UTC offset, such as 2026-03-01T08:00:00Z")
    return instant
