"""Jobs over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from ....domain.counters import JobCounters
from ....domain.definition import FIELD_NAMES
from ....domain.errors import InvalidInput, InvalidSchedule
from ....domain.job import (
    Backoff,
    HandlerType,
    JobDefinition,
    JobStatus,
    JobType,
    MisfirePolicy,
    OverlapPolicy,
    ScheduledJob,
)
from ....domain.json import Json
from ....domain.trace import read_trace_context
from ....ports.job_options import JobChanges
from .fields import (
    DEFAULTS,
    AnyJson,
    CatchupWindow,
    Concurrency,
    Description,
    Document,
    Flag,
    HandlerName,
    Instant,
    Key,
    LockTimeout,
    MaxCatchup,
    MaxExecutions,
    MaxRetries,
    MisfireGrace,
    Name,
    ObjectDocument,
    Priority,
    RetryDelay,
    ScheduleText,
    Share,
    ShownInstant,
    Tags,
    Timeout,
    Timezone,
    written_instant,
)
from .model import Input, Output, misplaced


class DefinitionFields(Input):
    """The fields of a definition that may be left out. `schedule` is one text for all types of job."""

    schedule: ScheduleText | None = Field(default=None, description="A cron, an interval, or an instant for one_time.")
    execute_at: Instant | None = Field(default=None, description="When a one_time job fires; instead of schedule.")
    handler_type: HandlerType = DEFAULTS["handler_type"]
    key: Key | None = None
    description: Description | None = None
    timezone: Timezone = DEFAULTS["timezone"]
    start_date: Instant | None = None
    end_date: Instant | None = None
    max_executions: MaxExecutions | None = None
    payload: Document = None
    metadata: ObjectDocument = Field(default_factory=dict)
    tags: Tags = DEFAULTS["tags"]
    priority: Priority = DEFAULTS["priority"]
    concurrency: Concurrency = DEFAULTS["concurrency"]
    overlap_policy: OverlapPolicy = DEFAULTS["overlap_policy"]
    misfire_policy: MisfirePolicy = DEFAULTS["misfire_policy"]
    misfire_grace_seconds: MisfireGrace = DEFAULTS["misfire_grace_seconds"]
    catchup_window_seconds: CatchupWindow = DEFAULTS["catchup_window_seconds"]
    max_catchup: MaxCatchup = DEFAULTS["max_catchup"]
    max_retries: MaxRetries = DEFAULTS["max_retries"]
    retry_delay_ms: RetryDelay = DEFAULTS["retry_delay_ms"]
    backoff: Backoff = DEFAULTS["backoff"]
    retry_jitter: Share = DEFAULTS["retry_jitter"]
    timeout_ms: Timeout = DEFAULTS["timeout_ms"]
    lock_timeout_seconds: LockTimeout = DEFAULTS["lock_timeout_seconds"]

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        if self.schedule is not None and self.execute_at is not None:
            raise misplaced("execute_at", "cannot go with schedule; name one of the two")
        if self.overlap_policy is OverlapPolicy.ALLOW_ALL and "concurrency" in self.model_fields_set:
            raise misplaced("concurrency", "means nothing beside overlap_policy allow_all; name one of the two")
        return self

    def named(self) -> dict[str, Any]:
        """Give the fields of a definition that the caller named, under their names there."""
        given = {name: getattr(self, name) for name in FIELD_NAMES if name in self.model_fields_set}
        return given | {"schedule": written_instant(self.execute_at)} if self.execute_at else given


class JobIn(DefinitionFields):
    """A job to store. `handler_name` may be left out for the types http and command."""

    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
        {
            "cron": {
                "name": "Nightly health check",
                "type": "cron",
                "schedule": "0 2 * * *",
                "timezone": "Europe/Berlin",
                "handler_name": "tocsin.health_check",
                "tags": ["night"],
            },
            "interval": {
                "name": "Watch the shop",
                "type": "interval",
                "schedule": "every 15m",
                "handler_type": "http",
                "payload": {"method": "GET", "url": "https://example.com/health", "expect": [200]},
                "key": "watch-the-shop",
                "max_retries": 5,
            },
            "one_time": {
                "name": "Say hello in the next century",
                "type": "one_time",
                "execute_at": "2100-01-01T00:00:00Z",
                "handler_name": "tocsin.noop",
                "payload": {"hello": "century"},
            },
        }
    )

    name: Name
    type: JobType
    handler_name: HandlerName | None = None
    enabled: Flag = Field(default=True, description="False: the job starts paused.")
    allow_unknown_handler: Flag = Field(default=False, description="True: the function may come later.")

    @model_validator(mode="after")
    def _has_what_its_type_needs(self) -> Self:
        if self.execute_at is not None and self.type is not JobType.ONE_TIME:
            raise misplaced("execute_at", f"is for jobs of type one_time, not {self.type.value}")
        if self.type is JobType.ONE_TIME and self.schedule is None and self.execute_at is None:
            raise misplaced("execute_at", "is required for a job of type one_time")
        if self.handler_name is None and self.handler_type not in {HandlerType.HTTP, HandlerType.COMMAND}:
            raise misplaced("handler_name", f"is required for handler_type {self.handler_type.value}")
        return self

    def definition(self) -> JobDefinition:
        """Give the job as the domain knows it."""
        return JobDefinition(**self.named() | {"handler_name": self.handler_name or self.handler_type.value})


def _without_defaults(schema: dict[str, Any]) -> None:
    for described in schema["properties"].values():
        described.pop("default", None)


class JobPatch(DefinitionFields):
    """What to change about a job; a field that is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    # A patch is only ever asked which fields were named, so these defaults are never read.
    name: Name = ""
    type: JobType = JobType.EVENT
    handler_name: HandlerName = ""

    def changes(self) -> JobChanges:
        """Give the changes as the port takes them."""
        return cast("JobChanges", self.named())


class ScheduleIn(Input):
    """Another schedule for a job: a cron, an interval, or an instant for one_time."""

    refusal: ClassVar[type[InvalidInput]] = InvalidSchedule

    schedule: ScheduleText
    timezone: Timezone | None = None


class JobOut(Output):
    """A job, its definition and its counters in one flat object."""

    id: UUID
    tenant_id: str
    name: str
    key: str | None
    description: str | None
    type: JobType
    status: JobStatus
    schedule: str | None
    execute_at: ShownInstant | None
    timezone: str
    next_run: ShownInstant | None
    last_run: ShownInstant | None
    start_date: ShownInstant | None
    end_date: ShownInstant | None
    max_executions: int | None
    handler_name: str
    handler_type: HandlerType
    payload: AnyJson
    metadata: dict[str, Any]
    tags: tuple[str, ...]
    priority: int
    concurrency: int
    overlap_policy: OverlapPolicy
    misfire_policy: MisfirePolicy
    misfire_grace_seconds: int
    catchup_window_seconds: int
    max_catchup: int
    max_retries: int
    retry_delay_ms: int
    backoff: Backoff
    retry_jitter: float
    timeout_ms: int
    lock_timeout_seconds: int
    executions_count: int
    success_count: int
    failure_count: int
    consecutive_failures: int
    avg_duration_ms: float | None
    created_by: str | None
    created_at: ShownInstant
    updated_at: ShownInstant
    completed_at: ShownInstant | None
    cancelled_at: ShownInstant | None
    deleted_at: ShownInstant | None
    deleted_by: str | None
    created_in: str | None = Field(description="The traceparent of the span under which it was made.")
    version: int

    @classmethod
    def of(cls, job: ScheduledJob) -> JobOut:
        """Show a job."""
        shown = {name: getattr(job.definition, name) for name in FIELD_NAMES}
        shown |= {name: getattr(job.counters, name) for name in (*_SHOWN_COUNTERS, "avg_duration_ms")}
        shown |= {name: getattr(job, name) for name in _OWN}
        created_in = None if job.created_in is None else job.created_in.traceparent
        return cls(**shown, execute_at=_execute_at(job.definition), created_in=created_in)

    def value(self) -> ScheduledJob:
        """
        Read a job as it was shown.

        What the API does not show takes its default: `last_nominal`, `exhausted`, `outcome` and, of the counters,
        `scheduled_count`, `slots_taken`, `waiting` and `live`.
        """
        counters = JobCounters(
            **{name: getattr(self, name) for name in _SHOWN_COUNTERS},
            duration_total_ms=round((self.avg_duration_ms or 0) * self.success_count),
        )
        return ScheduledJob(
            definition=JobDefinition(**{name: getattr(self, name) for name in FIELD_NAMES}),
            counters=counters,
            created_in=read_trace_context(self.created_in),
            **{name: getattr(self, name) for name in _OWN},
        )


_SHOWN_COUNTERS = ("executions_count", "success_count", "failure_count", "consecutive_failures")
_OWN = (
    "id",
    "tenant_id",
    "status",
    "next_run",
    "last_run",
    "created_by",
    "created_at",
    "updated_at",
    "completed_at",
    "cancelled_at",
    "deleted_at",
    "deleted_by",
    "version",
)


def _execute_at(definition: JobDefinition) -> datetime | None:
    if definition.type is not JobType.ONE_TIME or definition.schedule is None:
        return None
    return datetime.fromisoformat(definition.schedule)
