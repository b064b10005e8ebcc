"""The code that does the work: how a node finds it, checks its input and calls it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from ..domain.job import HandlerType
from ..domain.json import Json
from ..domain.trace import TraceContext


class ExecutionLogger(Protocol):
    """
    Writes lines into the execution's own log, kept beside its result.

    Safe from any thread; never raises and never blocks. Lines beyond the cap of an
    execution are counted and dropped, and the log says so. `fields` must be JSON.
    """

    def debug(self, message: str, **fields: Json) -> None:
        """Write a line of level debug."""

    def info(self, message: str, **fields: Json) -> None:
        """Write a line of level info."""

    def warning(self, message: str, **fields: Json) -> None:
        """Write a line of level warning."""

    def error(self, message: str, **fields: Json) -> None:
        """Write a line of level error."""


class Cancellation(Protocol):
    """Whether the attempt should stop: a cancel, a time-out, a drain or a lost lease. Safe from any thread."""

    @property
    def requested(self) -> bool:
        """True once the attempt should end; it stays true."""

    def wait(self, seconds: float) -> bool:
        """Block a thread until the attempt should end, `seconds` at most; answers `requested`."""


@dataclass(slots=True, kw_only=True)
class HandlerContext:
    """
    What a handler knows of the attempt it makes; nothing follows from changing it.

    `scheduled_at` is the nominal time, whenever the attempt really runs; `deadline` is when it
    times out; `attempt` counts from 1 and is the fencing token to hand on to other systems;
    `idempotency_key` is the same for every attempt of one execution. `event_id` is the event that led to it, if one
    did; `trace` the span of this attempt, to be handed on to other systems as `traceparent` and `tracestate`.
    """

    execution_id: UUID
    job_id: UUID
    job_name: str
    tenant_id: str
    handler_name: str
    attempt: int
    scheduled_at: datetime
    deadline: datetime
    payload: Json
    idempotency_key: str
    logger: ExecutionLogger
    cancellation: Cancellation
    report_progress: Callable[[float, str | None], None]
    event_id: UUID | None = None
    trace: TraceContext | None = None

    @property
    def cancelled(self) -> bool:
        """True once the attempt should end."""
        return self.cancellation.requested

    def progress(self, percent: float, message: str | None = None) -> None:
        """Say how far the work is, 0 to 100; the newest report is shown with the execution."""
        self.report_progress(min(max(float(percent), 0.0), 100.0), message)


Handler = Callable[[HandlerContext], Awaitable[object]]
"""
Does the work of one attempt. What it returns is the result (any JSON value); any exception is a failure
whose class name becomes `error_type`. It is cancelled as a task. The task must not end before the work
has really ended (a thread, a process group), because the end of the task frees the job's slot.
"""


class Handlers(Protocol):
    """The handlers that this process can run."""

    def resolve(self, handler_type: HandlerType, name: str) -> Handler:
        """
        Find the code for a job.

        Raises:
            HandlerNotFound: this process has no such handler.
        """

    def capabilities(self) -> frozenset[str]:
        """List what this process can run, as `domain.job.capability` words it."""

    def check(self, handler_type: HandlerType, name: str, payload: Json) -> None:
        """
        Refuse a payload that the handler could never run, before a job is stored.

        A function handler that this process does not know is not an error here: another node may have it.

        Raises:
            InvalidJob: names each field, as `payload.url`, or `handler_type` when the type is not
                available or not allowed on this node.
        """
