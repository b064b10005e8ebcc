"""Executions over the wire, and the lines that they logged."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from ....domain.execution import ExecutionStatus, JobExecution, Origin, PastAttempt, SkipReason
from ....ports.ledger import LogLine
from ....ports.scheduler import IDEMPOTENCY_KEY_BOUNDS
from .fields import AnyJson, Document, ShownInstant, Text
from .model import Input, Output


class TriggerIn(Input):
    """How to run a job by hand: with another payload than its own, and once per idempotency key."""

    payload: Document = None
    idempotency_key: (
        Annotated[Text, Field(min_length=IDEMPOTENCY_KEY_BOUNDS[0], max_length=IDEMPOTENCY_KEY_BOUNDS[1])] | None
    ) = None


class PastAttemptOut(Output):
    """An attempt that ended without ending its execution."""

    attempt: int
    started_at: ShownInstant | None
    ended_at: ShownInstant
    outcome: str
    error: str | None
    error_type: str | None
    worker_id: str | None


class ExecutionOut(Output):
    """One fire's record; a skipped one stands for `covers_count` nominal times up to `covers_until`."""

    id: UUID
    job_id: UUID
    job_version: int
    tenant_id: str
    status: ExecutionStatus
    priority: int
    payload: AnyJson
    idempotency_key: str | None
    origin: Origin
    scheduled_at: ShownInstant
    available_at: ShownInstant | None
    started_at: ShownInstant | None
    completed_at: ShownInstant | None
    duration_ms: int | None
    attempt: int
    failures: int
    max_retries: int
    next_retry_at: ShownInstant | None
    dispatched_at: ShownInstant | None
    result: AnyJson
    error: str | None
    error_type: str | None
    error_stack: str | None
    skip_reason: SkipReason | None
    covers_until: ShownInstant | None
    covers_count: int | None
    worker_id: str | None
    lease_expires_at: ShownInstant | None
    event_id: UUID | None
    event_handler_id: UUID | None
    depth: int
    retry_of: UUID | None
    correlation_id: str | None
    trace_id: str | None
    span_id: str | None
    parent_span_id: str | None
    trace_flags: int
    tracestate: str | None
    metadata: dict[str, Any]
    created_at: ShownInstant
    past_attempts: tuple[PastAttemptOut, ...]

    @classmethod
    def of(cls, execution: JobExecution) -> ExecutionOut:
        """Show an execution."""
        return cls.model_validate(execution)

    def value(self) -> JobExecution:
        """Read an execution as it was shown; `holds_slot`, which the API does not show, takes its default."""
        shown = {name: getattr(self, name) for name in ExecutionOut.model_fields if name != "past_attempts"}
        return JobExecution(**shown, past_attempts=tuple(map(_past_attempt, self.past_attempts)))


class LogLineOut(Output):
    """One line of an execution's log."""

    execution_id: UUID
    attempt: int
    sequence: int
    logged_at: ShownInstant
    level: str
    message: str
    fields: AnyJson

    @classmethod
    def of(cls, line: LogLine) -> LogLineOut:
        """Show a line."""
        return cls.model_validate(line)

    def value(self) -> LogLine:
        """Read a line as it was shown."""
        return LogLine(**{field.name: getattr(self, field.name) for field in fields(LogLine)})


def _past_attempt(shown: PastAttemptOut) -> PastAttempt:
    return PastAttempt(**{field.name: getattr(shown, field.name) for field in fields(PastAttempt)})
