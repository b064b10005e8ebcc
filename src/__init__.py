"""Tocsin: a job scheduler that accounts for every fire."""

from __future__ import annotations

from .adapters.handlers.functions import handler, on_event
from .bootstrap import open_scheduler
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
from .ports.event_requests import EventOutcome, EventReport, FeedItem, Replay
from .ports.handlers import HandlerContext
from .ports.queries import EventFilter, EventHandlerFilter, ExecutionFilter, JobFilter
from .ports.scheduler import IScheduler, OnConflict, Timing
from .ports.stores import Page

__version__ = "0.1.0"

__all__ = [
    "Backoff",
    "Batch",
    "Call",
    "CancelJobs",
    "Conflict",
    "CreateJob",
    "Debounce",
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
    "handler",
    "on_event",
    "open_scheduler",
]
