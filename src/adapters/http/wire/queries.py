"""What may stand behind the question mark; a field that is a tuple may be given several times."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Final, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from ....domain.definition import TEXT_BOUNDS
from ....domain.errors import InvalidEvent, InvalidEventHandler, InvalidInput, InvalidSchedule
from ....domain.event_definition import EVENT_TEXT_BOUNDS
from ....domain.execution import ExecutionStatus, Origin
from ....domain.job import JobStatus, JobType
from ....domain.patterns import is_pattern
from ....ports.conflicts import OnConflict
from ....ports.queries import (
    LIMIT_BOUNDS,
    EventFilter,
    EventHandlerFilter,
    ExecutionFilter,
    JobFilter,
    SortBy,
    SortOrder,
)
from ....ports.reports import Period
from ....ports.scheduler import LOG_BOUNDS, PREVIEW_BOUNDS
from .fields import Instant, Text
from .model import Input

_DIGITS: Final = re.compile(r"-?[0-9]{1,15}")


def _number(value: object) -> int:
    if not isinstance(value, str) or not _DIGITS.fullmatch(value):
        raise ValueError("must be a whole number of at most 15 digits")
    return int(value)


def _instant(value: object) -> object:
    # In a query a bare + means a space, so that an offset loses its sign on the way.
    return value.replace(" ", "+") if isinstance(value, str) and value.count("T") == 1 else value


def _pattern(value: str) -> str:
    if not is_pattern(value):
        raise ValueError("must be a pattern of names, such as tocsin.job.*")
    return value


def _flag(value: object) -> object:
    return {"true": True, "1": True, "false": False, "0": False}.get(value, value) if isinstance(value, str) else value


NUMERIC: Final = BeforeValidator(_number)

Count: TypeAlias = Annotated[int, Field(ge=0), NUMERIC]
Limit: TypeAlias = Annotated[int, Field(ge=LIMIT_BOUNDS[0], le=LIMIT_BOUNDS[1]), NUMERIC]
When: TypeAlias = Annotated[Instant, BeforeValidator(_instant)]
YesNo: TypeAlias = Annotated[bool, Field(strict=True), BeforeValidator(_flag)]
Term: TypeAlias = Annotated[Text, Field(max_length=TEXT_BOUNDS["name"][1])]
Place: TypeAlias = Annotated[Text, Field(max_length=EVENT_TEXT_BOUNDS["source"][1])]
Pattern: TypeAlias = Annotated[Term, AfterValidator(_pattern)]
Cursor: TypeAlias = Annotated[Text, Field(max_length=4096)]


class ConflictQuery(Input):
    """What to do when another job has the key."""

    on_conflict: OnConflict = OnConflict.ERROR


class Paging(Input):
    """Which part of a list."""

    limit: Limit = 50
    offset: Count | None = None
    cursor: Cursor | None = Field(default=None, description="The next_cursor of the page before; not with offset.")

    def named(self) -> dict[str, Any]:
        """Give what the caller named."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class JobQuery(Paging):
    """Which jobs; every condition must hold, several values of one mean either."""

    type: tuple[JobType, ...] = ()
    status: tuple[JobStatus, ...] = ()
    tags: tuple[Term, ...] = Field(default=(), description="Jobs with any of these.")
    tags_all: tuple[Term, ...] = Field(default=(), description="Jobs with every one of these.")
    handler_name: tuple[Term, ...] = ()
    key: tuple[Term, ...] = ()
    name_contains: Term | None = None
    created_after: When | None = None
    created_before: When | None = None
    next_run_after: When | None = None
    next_run_before: When | None = None
    created_by: tuple[Term, ...] = ()
    sort_by: SortBy = SortBy.CREATED_AT
    sort_order: SortOrder = SortOrder.DESC

    def filter(self) -> JobFilter:
        """Give the query as the port takes it."""
        return JobFilter(**self.named())


class HistoryQuery(Paging):
    """Which executions of one job."""

    status: tuple[ExecutionStatus, ...] = ()
    origin: tuple[Origin, ...] = ()
    scheduled_after: When | None = None
    scheduled_before: When | None = None

    def filter(self) -> ExecutionFilter:
        """Give the query as the port takes it."""
        return ExecutionFilter(**self.named())


class ExecutionQuery(HistoryQuery):
    """Which executions."""

    job_id: UUID | None = None
    event_id: UUID | None = Field(default=None, description="Executions that came of this event.")


class EventQuery(Paging):
    """Which events; every condition must hold, several values of one mean either."""

    refusal: ClassVar[type[InvalidInput]] = InvalidEvent

    name: tuple[Term, ...] = ()
    name_prefix: Term | None = None
    source: tuple[Place, ...] = ()
    subject: tuple[Place, ...] = ()
    matched: YesNo | None = Field(default=None, description="Whether a handler acted upon it, or holds it.")
    received_after: When | None = None
    received_before: When | None = None

    def filter(self) -> EventFilter:
        """Give the query as the port takes it."""
        return EventFilter(**self.named())


class EventHandlerQuery(Input):
    """Which event handlers."""

    refusal: ClassVar[type[InvalidInput]] = InvalidEventHandler

    event: tuple[Term, ...] = Field(default=(), description="Handlers of these very patterns.")
    key: tuple[Term, ...] = ()
    enabled: YesNo | None = None
    limit: Limit = 50
    offset: Count | None = None

    def filter(self) -> EventHandlerFilter:
        """Give the query as the port takes it."""
        return EventHandlerFilter(**{name: getattr(self, name) for name in self.model_fields_set})


class StreamQuery(Input):
    """Which facts: those behind a position whose name one of the patterns matches."""

    refusal: ClassVar[type[InvalidInput]] = InvalidEvent

    names: tuple[Pattern, ...] = Field(default=(), description="Such as tocsin.execution.*. Default: all.")
    after: Cursor | None = Field(default=None, description="The id of a message; the header Last-Event-ID wins.")


class LogQuery(Input):
    """Which lines: past the first `after`, `limit` at most; `follow` sends them as they come, without a limit."""

    after: Count = 0
    limit: Annotated[int, Field(ge=LOG_BOUNDS[0], le=LOG_BOUNDS[1]), NUMERIC] = 250
    follow: YesNo = Field(default=False, description="1: as server-sent events, until the execution has ended.")


class ChangeQuery(Input):
    """Which recorded versions."""

    limit: Limit = 50
    cursor: Cursor | None = Field(default=None, description="The next_cursor of the page before.")


class LedgerQuery(Input):
    """Which nominal times: later than `from`, and not later than `to`."""

    refusal: ClassVar[type[InvalidInput]] = InvalidInput

    since: When | None = Field(default=None, alias="from", description="By default 24 hours before `to`.")
    until: When | None = Field(default=None, alias="to", description="By default now.")


class PreviewQuery(Input):
    """How many fires, later than when."""

    refusal: ClassVar[type[InvalidInput]] = InvalidSchedule

    after: When | None = None
    count: Annotated[int, Field(ge=PREVIEW_BOUNDS[0], le=PREVIEW_BOUNDS[1]), NUMERIC] = 10


class PeriodQuery(Input):
    """How far back."""

    period: Period = Period.DAY
