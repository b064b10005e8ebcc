"""The bounds of a job's definition, and its form as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from enum import Enum
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, cast

from .errors import FieldError, InvalidJob
from .job import Backoff, HandlerType, JobDefinition, JobType, MisfirePolicy, OverlapPolicy
from .json import PAYLOAD_LIMIT, Json, NotStorable, storable
from .swift import swift
from .wall_times import FIRST_YEAR, LAST_YEAR

INTEGER_BOUNDS: Final = MappingProxyType(
    {
        "max_executions": (1, 1_000_000_000),
        "priority": (0, 100),
        "concurrency": (1, 1000),
        "misfire_grace_seconds": (0, 86_400),
        "catchup_window_seconds": (0, 31_536_000),
        "max_catchup": (1, 500),
        "max_retries": (0, 100),
        "retry_delay_ms": (0, 3_600_000),
        "timeout_ms": (1000, 604_800_000),
        "lock_timeout_seconds": (30, 7200),
    },
)
"""Field to (lowest, highest), both allowed. `max_catchup` stays below the steps of one plan."""

TEXT_BOUNDS: Final = MappingProxyType(
    {
        "name": (1, 255),
        "key": (1, 128),
        "handler_name": (1, 255),
        "description": (0, 4096),
        "schedule": (1, 255),
        "timezone": (1, 64),
    },
)
"""Field to (shortest, longest) in characters."""

TENANT_BOUNDS: Final = (1, 64)
TAG_LENGTH: Final = 64
TAGS_LIMIT: Final = 50

_ENUMS: Final = MappingProxyType(
    {
        "type": JobType,
        "handler_type": HandlerType,
        "overlap_policy": OverlapPolicy,
        "misfire_policy": MisfirePolicy,
        "backoff": Backoff,
    },
)
_CHOICES: Final = MappingProxyType({name: tuple(member.value for member in kind) for name, kind in _ENUMS.items()})
_INSTANTS: Final = ("start_date", "end_date")
_DOCUMENTS: Final = ("payload", "metadata")
_EARLIEST: Final = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
_BEYOND: Final = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
_PLAIN: Final = frozenset({str, int, float, type(None)})
"""Types of values that stand in a document as they are."""
_OPTIONAL: Final = frozenset({"max_executions", "key", "description", "schedule"})


def validate(definition: JobDefinition) -> JobDefinition:
    """
    Hold a definition against every bound that needs neither a calendar nor a handler; answer it as it is kept.

    What is kept is what its document says: payload and metadata storable, choices as enums, instants in UTC.

    Raises:
        InvalidJob: names each field that breaks a bound, and the bound.
    """
    checks = (_choices, _numbers, _texts, _tags, _documents, _instants, _combinations)
    errors = [error for check in checks for error in check(definition)]
    if errors:
        raise InvalidJob(errors)
    kept = {name: kept_document(name, getattr(definition, name)) for name in _DOCUMENTS}
    return from_document({**document(definition), **kept})


def kept_document(name: str, value: Json, *, limit: int = PAYLOAD_LIMIT) -> Json:
    """
    Make the value of a field storable.

    Raises:
        InvalidJob: it has no JSON form, or takes more than `limit` bytes.
    """
    try:
        return storable(value, limit=limit)
    except NotStorable as error:
        raise InvalidJob.of(name, str(error)) from None


def _choices(definition: JobDefinition) -> Iterator[FieldError]:
    for name, allowed in _CHOICES.items():
        if getattr(definition, name) not in allowed:
            yield FieldError(name, f"must be one of {', '.join(allowed)}")


def _numbers(definition: JobDefinition) -> Iterator[FieldError]:
    for name, (lowest, highest) in INTEGER_BOUNDS.items():
        value = getattr(definition, name)
        if value is None and name in _OPTIONAL:
            continue
        # A truth value is an integer to Python, and none to whoever reads the stored definition.
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            yield FieldError(name, f"must be between {lowest} and {highest}")
    jitter = definition.retry_jitter
    if not isinstance(jitter, int | float) or isinstance(jitter, bool) or not 0 <= jitter <= 1:
        yield FieldError("retry_jitter", "must be between 0 and 1")


def _texts(definition: JobDefinition) -> Iterator[FieldError]:
    for name, (shortest, longest) in TEXT_BOUNDS.items():
        value = getattr(definition, name)
        if value is None and name in _OPTIONAL:
            continue
        if not isinstance(value, str) or not shortest <= len(value) <= longest:
            yield FieldError(name, f"must have between {shortest} and {longest} characters")
        elif not _is_plain(value):
            yield FieldError(name, "must not contain NUL or lone surrogate characters")


def _tags(definition: JobDefinition) -> Iterator[FieldError]:
    tags = definition.tags
    if not isinstance(tags, list | tuple) or len(tags) > TAGS_LIMIT:
        yield FieldError("tags", f"must be a list of at most {TAGS_LIMIT} entries")
    elif not all(isinstance(tag, str) and 1 <= len(tag) <= TAG_LENGTH and _is_plain(tag) for tag in tags):
        yield FieldError("tags", f"each must have between 1 and {TAG_LENGTH} characters, without NUL")


def check_text(field: str, text: str, bounds: tuple[int, int]) -> None:
    """
    Hold a text against its (shortest, longest) length in characters, and against what no store keeps.

    Raises:
        InvalidJob: names the field.
    """
    shortest, longest = bounds
    if not isinstance(text, str) or not shortest <= len(text) <= longest:
        raise InvalidJob.of(field, f"must have between {shortest} and {longest} characters")
    if not _is_plain(text):
        raise InvalidJob.of(field, "must not contain NUL or lone surrogate characters")


def amended(definition: JobDefinition, changes: Mapping[str, Any]) -> JobDefinition:
    """Change the named fields; a change to `allow_all` leaves no concurrency behind, because it knows no slots."""
    unlimited = changes.get("overlap_policy") == OverlapPolicy.ALLOW_ALL
    implied = {"concurrency": 1} if unlimited else {}
    return replace(definition, **implied | dict(changes))


def _is_plain(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _documents(definition: JobDefinition) -> Iterator[FieldError]:
    for name in _DOCUMENTS:
        try:
            kept_document(name, getattr(definition, name))
        except InvalidJob as error:
            yield from error.errors
    if not isinstance(definition.metadata, Mapping):
        yield FieldError("metadata", "must be an object")


def _instants(definition: JobDefinition) -> Iterator[FieldError]:
    start, end = definition.start_date, definition.end_date
    errors = [
        FieldError(name, f"must be an instant with its UTC offset, from {FIRST_YEAR} to {LAST_YEAR}")
        for name in _INSTANTS
        if not _is_instant(getattr(definition, name))
    ]
    if not errors and start and end and start > end:
        errors.append(FieldError("end_date", "must not be before start_date"))
    yield from errors


def _is_instant(value: datetime | None) -> bool:
    if value is None:
        return True
    return isinstance(value, datetime) and value.utcoffset() is not None and _EARLIEST <= value < _BEYOND


def _combinations(definition: JobDefinition) -> Iterator[FieldError]:
    if definition.overlap_policy == OverlapPolicy.ALLOW_ALL and definition.concurrency != 1:
        yield FieldError("concurrency", "means nothing beside overlap_policy allow_all; name one of the two")
    if definition.type == JobType.RECURRING and definition.end_date is None and definition.max_executions is None:
        yield FieldError("type", "a recurring job needs end_date or max_executions")
    if (definition.schedule is None) != (definition.type == JobType.EVENT):
        rule = "is required" if definition.schedule is None else "must be empty"
        yield FieldError("schedule", f"{rule} for a job of type {definition.type}")


def document(definition: JobDefinition) -> dict[str, Json]:
    """Write a definition as JSON under its field names; instants are ISO 8601 in UTC."""
    named = zip(FIELD_NAMES, _VALUES(definition), strict=True)
    return {name: value if type(value) in _PLAIN else _written(value) for name, value in named}


def from_document(written: Mapping[str, Any]) -> JobDefinition:
    """Read what `document` wrote; fields that a later version added take their defaults."""
    read = {name: written[name] for name in FIELD_NAMES if name in written}
    for name, kind in _ENUMS.items():
        if name in read:
            read[name] = kind(read[name])
    for name in _INSTANTS:
        if read.get(name) is not None:
            read[name] = datetime.fromisoformat(read[name])
    if "tags" in read:
        read["tags"] = tuple(read["tags"])
    return _Definition(**read)


def _written(value: object) -> Json:
    match value:
        case Enum():
            return cast("Json", value.value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case tuple():
            return list(value)
        case _:
            return cast("Json", value)


FIELD_NAMES: Final = tuple(field.name for field in fields(JobDefinition))
"""The fields of a definition, in order."""

_VALUES: Final = attrgetter(*FIELD_NAMES)
_Definition: Final = swift(JobDefinition)
