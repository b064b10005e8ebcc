"""Tocsin: a job scheduler that accounts for every fire."""

from __future__ import annotations

from .adapters.handlers.functions import handler
from .bootstrap import open_scheduler
from .domain.job import Backoff, HandlerType, JobDefinition, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from .ports.handlers import HandlerContext
from .ports.queries import ExecutionFilter, JobFilter
from .ports.scheduler import IScheduler, OnConflict, Timing

__version__ = "0.1.0"

__all__ = [
    "Backoff",
    "ExecutionFilter",
    "HandlerContext",
    "HandlerType",
    "IScheduler",
    "JobDefinition",
    "JobFilter",
    "JobType",
    "MisfirePolicy",
    "OnConflict",
    "OverlapPolicy",
    "ScheduledJob",
    "Timing",
    "handler",
    "open_scheduler",
]
