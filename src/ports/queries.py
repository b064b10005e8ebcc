"""What a list may be narrowed to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from ..domain.errors import FieldError, InvalidEvent, InvalidEventHandler, InvalidInput, InvalidJob
from ..domain.execution import ExecutionStatus, Origin
from ..domain.job import JobStatus, JobType

LIMIT_BOUNDS: Final = (1, 250)


class SortBy(StrEnum):
    """What jobs may be sorted by; jobs without a next_run come last."""

    CREATED_AT = "created_at"
    NEXT_RUN = "next_run"
    NAME = "name"
    PRIORITY = "priority"


class SortOrder(StrEnum):
    """Which way."""

    ASC = "asc"
    DESC = "desc"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """
    Which jobs to list; every condition named must hold, several values of one mean either.

    `tags` asks for any of them, `tags_all` for every one; `name_contains` looks for that very text, but for
    the case of ASCII letters; before and after are inclusive. `cursor`, from a page with the same filter,
    wins over nothing: naming both it and `offset` is refused.
    """

    type: tuple[JobType, ...] = ()
    status: tuple[JobStatus, ...] = ()
    tags: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    handler_name: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    name_contains: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    next_run_after: datetime | None = None
    next_run_before: datetime | None = None
    created_by: tuple[str, ...] = ()
    limit: int = 50
    offset: int | None = None
    cursor: str | None = None
    sort_by: SortBy = SortBy.CREATED_AT
    sort_order: SortOrder = SortOrder.DESC

    def __post_init__(self) -> None:
        """
        Refuse paging out of bounds and instants without an offset.

        Raises:
            InvalidJob: names the field.
        """
        _check(_errors(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Which executions to list, newest nominal time first; several values of one condition mean either."""

    job_id: UUID | None = None
    event_id: UUID | None = None
    status: tuple[ExecutionStatus, ...] = ()
    origin: tuple[Origin, ...] = ()
    scheduled_after: datetime | None = None
    scheduled_before: datetime | None = None
    limit: int = 50
    offset: int | None = None
    cursor: str | None = None

    def __post_init__(self) -> None:
        """
        Refuse paging out of bounds and instants without an offset.

        Raises:
            InvalidJob: names the field.
        """
        _check(_errors(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """
    Which events to list, newest first; several values of one condition mean either.

    `name` asks for these very names, `name_prefix` for names that begin so; `matched` for those that a handler acted
    upon or holds (True), or that touched nothing (False). Tocsin's own facts are listed like all others.
    """

    name: tuple[str, ...] = ()
    name_prefix: str | None = None
    source: tuple[str, ...] = ()
    subject: tuple[str, ...] = ()
    matched: bool | None = None
    received_after: datetime | None = None
    received_before: datetime | None = None
    limit: int = 50
    offset: int | None = None
    cursor: str | None = None

    def __post_init__(self) -> None:
        """
        Refuse paging out of bounds and instants without an offset.

        Raises:
            InvalidEvent: names the field.
        """
        _check(_errors(self), InvalidEvent)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHandlerFilter:
    """Which event handlers to list, those that act first first; several values of one condition mean either."""

    event: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    enabled: bool | None = None
    limit: int = 50
    offset: int | None = None

    def __post_init__(self) -> None:
        """
        Refuse paging out of bounds.

        Raises:
            InvalidEventHandler: names the field.
        """
        _check(_errors(self), InvalidEventHandler)


AnyFilter: TypeAlias = JobFilter | ExecutionFilter | EventFilter | EventHandlerFilter
SeekFilter: TypeAlias = JobFilter | ExecutionFilter | EventFilter
"""The filters of lists that a cursor goes on with."""


def _errors(query: AnyFilter) -> Iterator[FieldError]:
    lowest, highest = LIMIT_BOUNDS
    if not lowest <= query.limit <= highest:
        yield FieldError("limit", f"must be between {lowest} and {highest}")
    if query.offset is not None and query.offset < 0:
        yield FieldError("offset", "must be 0 or more")
    for field in fields(query):
        value = getattr(query, field.name)
        if isinstance(value, datetime) and value.utcoffset() is None:
            yield FieldError(field.name, "must have a UTC offset")
    if query.offset is not None and getattr(query, "cursor", None) is not None:
        yield FieldError("cursor", "cannot go with offset; name one of the two")


def _check(errors: Iterator[FieldError], refusal: type[InvalidInput] = InvalidJob) -> None:
    found = tuple(errors)
    if found:
        raise refusal(found)
