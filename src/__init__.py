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
    HandlerMode,
    NewEvent,
    Publish,
    RunJob,
)
from .domain.execution import ExecutionStatus, JobExecution, SkipReason
from .domain.flow import Batch, Debounce, FlowControl, Rate
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
from .ports.handlers import HandlerContext
from .ports.queries import EventFilter, EventHandlerFilter, ExecutionFilter, JobFilter
from .ports.scheduler import EventOutcome, IScheduler, OnConflict, Timing
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
    "EventHandlerNotFound",
    "EventNotFound",
    "EventOutcome",
    "ExecutionFilter",
    "ExecutionNotFound",
    "ExecutionStatus",
    "FlowControl",
    "HandlerContext",
    "HandlerFailed",
    "HandlerMode",
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
    "RunJob",
    "ScheduledJob",
    "SkipReason",
    "StoreUnavailable",
    "Timing",
    "TocsinError",
    "VersionConflict",
    "handler",
    "on_event",
    "open_scheduler",
]
