"""Tocsin: a job scheduler that accounts for every fire."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .adapters.handlers.functions import handler, on_event
    from .adapters.handlers.scheduled import cron, every
    from .domain.errors import (
        Conflict,
        EventHandlerNotFound,
        EventNotFound,
        ExecutionNotFound,
        HandlerFailed,
        HandlerNotFound,
        InvalidEvent,
        InvalidEventHandler,
        InvalidInput,
        InvalidJob,
        InvalidSchedule,
        InvalidTransition,
        JobNotFound,
        NotFound,
        StoreUnavailable,
        TocsinError,
        VersionConflict,
    )
    from .domain.event import (
        Call,
        CancelJobs,
        CreateJob,
        Event,
        EventHandler,
        EventHandlerDefinition,
        EventHandlerMode,
        JobKeyConflict,
        NewEvent,
        Publish,
        RunJob,
    )
    from .domain.execution import ExecutionStatus, JobExecution, SkipReason
    from .domain.flow import Batch, Debounce, FlowControl, Rate
    from .domain.impact import Touch
    from .domain.job import (
        Backoff,
        HandlerType,
        JobDefinition,
        JobStatus,
        JobType,
        MisfirePolicy,
        OverlapPolicy,
        ScheduledJob,
    )
    from .domain.trace import TraceContext
    from .embedded import EmbeddedScheduler, open_scheduler
    from .ports.batches import BulkAction, BulkOutcome, NewJob
    from .ports.conflicts import OnConflict
    from .ports.event_requests import EventOutcome, EventReport, FeedItem, FilterTrial, Replay
    from .ports.handlers import HandlerContext
    from .ports.queries import EventFilter, EventHandlerFilter, ExecutionFilter, JobFilter
    from .ports.scheduler import IScheduler, Timing
    from .ports.stores import Page

__version__ = "0.1.0"

__all__ = [
    "Backoff",
    "Batch",
    "BulkAction",
    "BulkOutcome",
    "Call",
    "CancelJobs",
    "Conflict",
    "CreateJob",
    "Debounce",
    "EmbeddedScheduler",
    "Event",
    "EventFilter",
    "EventHandler",
    "EventHandlerDefinition",
    "EventHandlerFilter",
    "EventHandlerMode",
    "EventHandlerNotFound",
    "EventNotFound",
    "EventOutcome",
    "EventReport",
    "ExecutionFilter",
    "ExecutionNotFound",
    "ExecutionStatus",
    "FeedItem",
    "FilterTrial",
    "FlowControl",
    "HandlerContext",
    "HandlerFailed",
    "HandlerNotFound",
    "HandlerType",
    "IScheduler",
    "InvalidEvent",
    "InvalidEventHandler",
    "InvalidInput",
    "InvalidJob",
    "InvalidSchedule",
    "InvalidTransition",
    "JobDefinition",
    "JobExecution",
    "JobFilter",
    "JobKeyConflict",
    "JobNotFound",
    "JobStatus",
    "JobType",
    "MisfirePolicy",
    "NewEvent",
    "NewJob",
    "NotFound",
    "OnConflict",
    "OverlapPolicy",
    "Page",
    "Publish",
    "Rate",
    "Replay",
    "RunJob",
    "ScheduledJob",
    "SkipReason",
    "StoreUnavailable",
    "Timing",
    "TocsinError",
    "Touch",
    "TraceContext",
    "VersionConflict",
    "cron",
    "every",
    "handler",
    "on_event",
    "open_scheduler",
]

_HOMES: Final = MappingProxyType(
    {
        ".adapters.handlers.functions": ("handler", "on_event"),
        ".adapters.handlers.scheduled": ("cron", "every"),
        ".domain.errors": (
            "Conflict",
            "EventHandlerNotFound",
            "EventNotFound",
            "ExecutionNotFound",
            "HandlerFailed",
            "HandlerNotFound",
            "InvalidEvent",
            "InvalidEventHandler",
            "InvalidInput",
            "InvalidJob",
            "InvalidSchedule",
            "InvalidTransition",
            "JobNotFound",
            "NotFound",
            "StoreUnavailable",
            "TocsinError",
            "VersionConflict",
        ),
        ".domain.event": (
            "Call",
            "CancelJobs",
            "CreateJob",
            "Event",
            "EventHandler",
            "EventHandlerDefinition",
            "EventHandlerMode",
            "JobKeyConflict",
            "NewEvent",
            "Publish",
            "RunJob",
        ),
        ".domain.execution": ("ExecutionStatus", "JobExecution", "SkipReason"),
        ".domain.flow": ("Batch", "Debounce", "FlowControl", "Rate"),
        ".domain.impact": ("Touch",),
        ".domain.job": (
            "Backoff",
            "HandlerType",
            "JobDefinition",
            "JobStatus",
            "JobType",
            "MisfirePolicy",
            "OverlapPolicy",
            "ScheduledJob",
        ),
        ".domain.trace": ("TraceContext",),
        ".embedded": ("EmbeddedScheduler", "open_scheduler"),
        ".ports.batches": ("BulkAction", "BulkOutcome", "NewJob"),
        ".ports.conflicts": ("OnConflict",),
        ".ports.event_requests": ("EventOutcome", "EventReport", "FeedItem", "FilterTrial", "Replay"),
        ".ports.handlers": ("HandlerContext",),
        ".ports.queries": ("EventFilter", "EventHandlerFilter", "ExecutionFilter", "JobFilter"),
        ".ports.scheduler": ("IScheduler", "Timing"),
        ".ports.stores": ("Page",),
    },
)

# Type checkers are to know these names and no others.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name when somebody first asks for it: a program pays for no more than it uses."""
        for module, names in _HOMES.items():
            if name in names:
                # From now on it is found without asking here.
                found = globals()[name] = getattr(import_module(module, __name__), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
