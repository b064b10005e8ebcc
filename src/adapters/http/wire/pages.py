"""Lists over the wire: one envelope for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ....ports.stores import Page
from .event_handlers import EventHandlerOut
from .events import EventOut
from .executions import ExecutionOut, LogLineOut
from .fleet import WorkerOut
from .jobs import JobOut
from .ledger import JobChangeOut
from .model import Output

Shown = TypeVar("Shown", bound=Output)
Value = TypeVar("Value")


class PageOut(Output, Generic[Shown]):
    """Part of a list; what a list has no use for is null."""

    items: tuple[Shown, ...]
    total: int
    limit: int | None
    offset: int | None
    next_cursor: str | None
    has_next: bool


class JobPage(PageOut[JobOut]):
    """Part of a list of jobs."""


class ExecutionPage(PageOut[ExecutionOut]):
    """Part of a list of executions."""


class LogPage(PageOut[LogLineOut]):
    """Part of a log; `offset` is how many lines lie before it."""


class ChangePage(PageOut[JobChangeOut]):
    """Part of a job's recorded versions, newest first."""


class EventPage(PageOut[EventOut]):
    """Part of a list of events, newest first."""


class EventHandlerPage(PageOut[EventHandlerOut]):
    """Part of a list of event handlers, those that act first first."""


class WorkerPage(PageOut[WorkerOut]):
    """All workers."""


AnyPage = TypeVar("AnyPage", JobPage, ExecutionPage, LogPage, ChangePage, EventPage, EventHandlerPage)


def page_of(model: type[AnyPage], page: Page[Value], show: Callable[[Value], Output]) -> AnyPage:
    """Show a page."""
    seen = None if page.offset is None else page.offset + len(page.items)
    return model.model_validate(
        {
            "items": [show(item) for item in page.items],
            "total": page.total,
            "limit": page.limit,
            "offset": page.offset,
            "next_cursor": page.next_cursor,
            "has_next": page.next_cursor is not None or (seen is not None and seen < page.total),
        },
    )


def read_page(shown: PageOut[Shown], read: Callable[[Shown], Value]) -> Page[Value]:
    """Read a page as it was shown."""
    return Page(
        items=[read(item) for item in shown.items],
        total=shown.total,
        limit=shown.limit or len(shown.items),
        offset=shown.offset,
        next_cursor=shown.next_cursor,
    )
