"""Tocsin: a job scheduler that accounts for every fire."""

from __future__ import annotations

from .adapters.handlers.functions import handler
from .bootstrap import open_scheduler
from .domain.errors import (
    Conflict,
    ExecutionNotFound,
    HandlerFailed,
    HandlerNotFound,
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
from .domain.execution import ExecutionStatus, JobExecution, SkipReason
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
from .ports.queries import ExecutionFilter, JobFilter
from .ports.scheduler import IScheduler, OnConflict, Timing
from .ports.stores import Page

__version__ = "0.1.0"

__all__ = [
    "Backoff",
    "Conflict",
    "ExecutionFilter",
    "ExecutionNotFound",
    "ExecutionStatus",
    "HandlerContext",
    "HandlerFailed",
    "HandlerNotFound",
    "HandlerType",
    "IScheduler",
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
    "NotFound",
    "OnConflict",
    "OverlapPolicy",
    "Page",
    "ScheduledJob",
    "SkipReason",
    "StoreUnavailable",
    "Timing",
    "TocsinError",
    "VersionConflict",
    "handler",
    "open_scheduler",
]
