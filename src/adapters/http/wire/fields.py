"""The types of single fields; their bounds are the domain's."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic.fields import FieldInfo

from ....domain.definition import INTEGER_BOUNDS, TAG_LENGTH, TAGS_LIMIT, TEXT_BOUNDS
from ....domain.job import PRIORITY_NAMES, JobDefinition
from ....domain.json import PAYLOAD_LIMIT, NotStorable, storable
from ....domain.wall_times import FIRST_YEAR, LAST_YEAR

DEFAULTS: Final = MappingProxyType(
    {field.name: field.default for field in fields(JobDefinition) if field.default is not MISSING},
)
"""What a definition says where its author says nothing."""


def integer(name: str) -> FieldInfo:
    """Bound a whole number as `INTEGER_BOUNDS` does."""
    lowest, highest = INTEGER_BOUNDS[name]
    return _field(strict=True, ge=lowest, le=highest)


def text(name: str) -> FieldInfo:
    """Bound a text as `TEXT_BOUNDS` does."""
    shortest, longest = TEXT_BOUNDS[name]
    return _field(min_length=shortest, max_length=longest)


def _field(**bounds: Any) -> FieldInfo:  # noqa: ANN401 - what Field takes
    info: FieldInfo = Field(**bounds)
    return info


def _plain(value: str) -> str:
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not contain NUL or lone surrogate characters")
    return value


def _document(value: Any) -> Any:  # noqa: ANN401 - any JSON
    try:
        stored = storable(value, limit=PAYLOAD_LIMIT)
    except NotStorable as error:
        raise ValueError(str(error)) from None
    if stored != value:
        raise ValueError("must not contain NUL or lone surrogate characters")
    return value


def _instant(value: object) -> datetime:
    try:
        instant = _in_utc(datetime.fromisoformat(value) if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        instant = None
    if instant is None or not FIRST_YEAR <= instant.year <= LAST_YEAR:
        rule = f"must be an instant from {FIRST_YEAR} to {LAST_YEAR} in ISO 8601 with its UTC offset"
        raise ValueError(f"{rule}, such as 2026-01-31T08:00:00Z")
    return instant


def _in_utc(value: object) -> datetime | None:
    return _utc(value) if isinstance(value, datetime) and value.tzinfo is not None else None


def written_instant(instant: datetime) -> str:
    """Write an instant as ISO 8601 in UTC with a `Z`."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)


def _priority(value: object) -> object:
    return PRIORITY_NAMES.get(value, value) if isinstance(value, str) else value


_LOWEST, _HIGHEST = INTEGER_BOUNDS["priority"]
_PRIORITY_SCHEMA: Final = {
    "anyOf": [
        {"type": "integer", "minimum": _LOWEST, "maximum": _HIGHEST},
        {"type": "string", "enum": list(PRIORITY_NAMES)},
    ],
    "description": ", ".join(f"{name} is {number}" for name, number in PRIORITY_NAMES.items()),
}

Text: TypeAlias = Annotated[str, AfterValidator(_plain)]
Name: TypeAlias = Annotated[Text, text("name")]
Key: TypeAlias = Annotated[Text, text("key")]
HandlerName: TypeAlias = Annotated[Text, text("handler_name")]
Description: TypeAlias = Annotated[Text, text("description")]
ScheduleText: TypeAlias = Annotated[Text, text("schedule")]
Timezone: TypeAlias = Annotated[Text, text("timezone")]
Tag: TypeAlias = Annotated[Text, Field(min_length=1, max_length=TAG_LENGTH)]
Tags: TypeAlias = Annotated[tuple[Tag, ...], Field(max_length=TAGS_LIMIT)]

MaxExecutions: TypeAlias = Annotated[int, integer("max_executions")]
Priority: TypeAlias = Annotated[
    Annotated[int, integer("priority")], BeforeValidator(_priority), WithJsonSchema(_PRIORITY_SCHEMA, mode="validation")
]
Concurrency: TypeAlias = Annotated[int, integer("concurrency")]
MisfireGrace: TypeAlias = Annotated[int, integer("misfire_grace_seconds")]
CatchupWindow: TypeAlias = Annotated[int, integer("catchup_window_seconds")]
MaxCatchup: TypeAlias = Annotated[int, integer("max_catchup")]
MaxRetries: TypeAlias = Annotated[int, integer("max_retries")]
RetryDelay: TypeAlias = Annotated[int, integer("retry_delay_ms")]
Timeout: TypeAlias = Annotated[int, integer("timeout_ms")]
LockTimeout: TypeAlias = Annotated[int, integer("lock_timeout_seconds")]
Share: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=1)]
Flag: TypeAlias = Annotated[bool, Field(strict=True)]

_DATE_TIME: Final = {"type": "string", "format": "date-time"}

Instant: TypeAlias = Annotated[
    datetime, BeforeValidator(_instant), PlainSerializer(written_instant), WithJsonSchema(_DATE_TIME)
]
ShownInstant: TypeAlias = Annotated[
    AwareDatetime, AfterValidator(_utc), PlainSerializer(written_instant), WithJsonSchema(_DATE_TIME)
]
LocalTime: TypeAlias = Annotated[datetime, PlainSerializer(datetime.isoformat), WithJsonSchema(_DATE_TIME)]

_SIZE: Final = f"Any JSON of at most {PAYLOAD_LIMIT // 1024} KiB."

Document: TypeAlias = Annotated[Any, AfterValidator(_document), WithJsonSchema({"description": _SIZE})]
ObjectDocument: TypeAlias = Annotated[dict[str, Any], AfterValidator(_document)]
AnyJson: TypeAlias = Annotated[Any, WithJsonSchema({"description": "Any JSON."})]
