"""What to run, when, and under which rules: the job, its definition and its state machine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from uuid import UUID

from .bands import Band
from .counters import JobCounters
from .errors import InvalidTransition
from .execution import ExecutionStatus
from .json import Json
from .trace import TraceContext

DEFAULT_TENANT: Final = "default"
PRIORITY_NAMES: Final = MappingProxyType({band.name.lower(): band.value for band in Band})
LOCK_TIMEOUT_SECONDS: Final = 60
"""How long a lease lasts by default, and where the job's own word for it cannot be read."""


class JobType(StrEnum):
    """What makes a job fire; `recurring` is a cron or an interval with an end."""

    CRON = "cron"
    INTERVAL = "interval"
    ONE_TIME = "one_time"
    RECURRING = "recurring"
    EVENT = "event"


class HandlerType(StrEnum):
    """What kind of code does the work."""

    FUNCTION = "function"
    HTTP = "http"
    COMMAND = "command"
    AGENT = "agent"
    WORKFLOW = "workflow"


class OverlapPolicy(StrEnum):
    """What a schedule fire does when all slots of its job are taken; `allow_all` knows no slots."""

    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    QUEUE_ALL = "queue_all"
    ALLOW_ALL = "allow_all"


class MisfirePolicy(StrEnum):
    """What becomes of nominal times that are found later than the grace allows."""

    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"
    SKIP = "skip"


class Backoff(StrEnum):
    """How the delay before a retry grows."""

    EXPONENTIAL = "exponential"
    FIXED = "fixed"


class JobStatus(StrEnum):
    """Where a job stands; see `JOB_TRANSITIONS`."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


JOB_TRANSITIONS: Final = MappingProxyType(
    {
        JobStatus.PENDING: frozenset({JobStatus.ACTIVE, JobStatus.CANCELLED}),
        JobStatus.ACTIVE: frozenset({JobStatus.PAUSED, JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED}),
        JobStatus.PAUSED: frozenset({JobStatus.ACTIVE, JobStatus.COMPLETED, JobStatus.CANCELLED}),
        JobStatus.COMPLETED: frozenset({JobStatus.ACTIVE}),
        JobStatus.FAILED: frozenset({JobStatus.ACTIVE}),
        JobStatus.CANCELLED: frozenset[JobStatus](),
    },
)


def capability(handler_type: HandlerType, name: str) -> str:
    """Word what a node must be able to run: `function/NAME` for functions, else the type itself."""
    return f"function/{name}" if handler_type is HandlerType.FUNCTION else handler_type.value


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """
    All that a user decides about a job; every version of it is recorded.

    `schedule` is a cron, an interval, an instant (`one_time`) or nothing (`event`). Bounds are
    those of `domain.definition.validate`.
    """

    name: str
    type: JobType
    handler_name: str
    schedule: str | None = None
    handler_type: HandlerType = HandlerType.FUNCTION
    key: str | None = None
    description: str | None = None
    timezone: str = "UTC"
    start_date: datetime | None = None
    end_date: datetime | None = None
    max_executions: int | None = None
    payload: Json = None
    metadata: Json = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    priority: int = 50
    concurrency: int = 1
    overlap_policy: OverlapPolicy = OverlapPolicy.SKIP
    misfire_policy: MisfirePolicy = MisfirePolicy.RUN_ONCE
    misfire_grace_seconds: int = 60
    catchup_window_seconds: int = 86_400
    max_catchup: int = 100
    max_retries: int = 3
    retry_delay_ms: int = 60_000
    backoff: Backoff = Backoff.EXPONENTIAL
    retry_jitter: float = 0.0
    timeout_ms: int = 300_000
    lock_timeout_seconds: int = LOCK_TIMEOUT_SECONDS

    @property
    def capability(self) -> str:
        """What a node must be able to run to take this job's executions."""
        return capability(self.handler_type, self.handler_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJob:
    """
    A job: its definition, and how far it has come.

    `last_run` is the newest nominal time that became an execution; `last_nominal` the newest one
    recorded at all, skips included, and no later fire may stand at or before it. `exhausted` says
    that its schedule has nothing left to fire. `outcome` is how the execution of a one_time job's
    schedule ended, retries of it included; None before, after a reschedule, and for every other type.
    `created_in` is the span under which it was made, to which the traces of its fires are linked; `depth` counts the
    events in a row that led to it.
    """

    id: UUID
    definition: JobDefinition
    created_at: datetime
    updated_at: datetime
    tenant_id: str = DEFAULT_TENANT
    status: JobStatus = JobStatus.ACTIVE
    next_run: datetime | None = None
    last_run: datetime | None = None
    last_nominal: datetime | None = None
    exhausted: bool = False
    outcome: ExecutionStatus | None = None
    created_by: str | None = None
    completed_at: datetime | None = None
    cancelled_at: datetime | None = None
    deleted_at: datetime | None = None
    deleted_by: str | None = None
    created_in: TraceContext | None = None
    depth: int = 0
    version: int = 1
    counters: JobCounters = field(default_factory=JobCounters)

    def to(self, status: JobStatus, now: datetime) -> ScheduledJob:
        """
        Take one step of the state machine; only an active job keeps its next_run.

        Raises:
            InvalidTransition: `JOB_TRANSITIONS` has no such step.
        """
        if status not in JOB_TRANSITIONS[self.status]:
            raise InvalidTransition("job", self.status, status)
        ended = status in {JobStatus.COMPLETED, JobStatus.FAILED}
        return replace(
            self,
            status=status,
            next_run=None if status is not JobStatus.ACTIVE else self.next_run,
            completed_at=now if ended else None,
            cancelled_at=now if status is JobStatus.CANCELLED else None,
        )

    @property
    def anchor(self) -> datetime:
        """Where an interval counts from: start_date, else created_at cut to the second (design: time)."""
        return self.definition.start_date or self.created_at.replace(microsecond=0)

    @property
    def admissible(self) -> int:
        """How many waiting executions may be admitted now: all, if `allow_all` says that nothing has to wait."""
        if self.definition.overlap_policy is OverlapPolicy.ALLOW_ALL:
            return self.counters.waiting
        return self.counters.admissible(self.definition.concurrency)
