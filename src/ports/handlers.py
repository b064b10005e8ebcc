"""The code that does the work: how a node finds it, checks its input and calls it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime, timedelta
from threading import Lock
from typing import ClassVar, Protocol
from uuid import UUID

from ..domain.attempt import Attempt
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


class ExecutionRecords(Protocol):
    """Where what handlers say of their attempts is written."""

    def logger_of(self, attempt: Attempt) -> ExecutionLogger:
        """Make the logger of one attempt, which counts its lines."""

    def report(self, attempt: Attempt, percent: float, message: str | None) -> None:
        """Note how far an attempt is; the newest report wins."""


class HandlerContext:
    """
    What a handler knows of the attempt it makes; nothing follows from changing it.

    A view of the attempt, of which most handlers ask little: what takes work to tell is told when it is asked for.
    `cancellation` says whether it should stop; `trace` is a span that is recorded of the attempt, if one is.
    """

    __slots__ = ("_attempt", "_logger", "_records", "_trace", "cancellation")

    _making: ClassVar = Lock()

    def __init__(
        self,
        attempt: Attempt,
        *,
        cancellation: Cancellation,
        records: ExecutionRecords,
        trace: TraceContext | None = None,
    ) -> None:
        self._attempt = attempt
        self._records = records
        self._logger: ExecutionLogger | None = None
        self._trace = trace
        self.cancellation = cancellation

    @property
    def execution_id(self) -> UUID:
        """The execution."""
        return self._attempt.execution_id

    @property
    def job_id(self) -> UUID:
        """Its job."""
        return self._attempt.job_id

    @property
    def job_name(self) -> str:
        """What its job is called."""
        return self._attempt.definition.name

    @property
    def tenant_id(self) -> str:
        """Whose job it is."""
        return self._attempt.tenant_id

    @property
    def handler_name(self) -> str:
        """The name by which the job asks for its handler."""
        return self._attempt.definition.handler_name

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1: the fencing token to hand on to other systems."""
        return self._attempt.attempt

    @property
    def scheduled_at(self) -> datetime:
        """The nominal time, whenever the attempt really runs."""
        return self._attempt.scheduled_at

    @property
    def deadline(self) -> datetime:
        """When the attempt times out."""
        return self._attempt.started_at + timedelta(milliseconds=self._attempt.definition.timeout_ms)

    @property
    def payload(self) -> Json:
        """The execution's payload, or else a copy of its job's."""
        return self._attempt.payload

    @property
    def idempotency_key(self) -> str:
        """A key that is the same for every attempt of the execution."""
        return self._attempt.idempotency_key or str(self._attempt.execution_id)

    @property
    def event_id(self) -> UUID | None:
        """The event that led to the execution, if one did."""
        return self._attempt.event_id

    @property
    def trace(self) -> TraceContext | None:
        """The span of this attempt, to be handed on to other systems as `traceparent` and `tracestate`."""
        return self._trace or self._attempt.attempt_trace

    @property
    def logger(self) -> ExecutionLogger:
        """The execution's own log."""
        if self._logger is None:
            # Threads of one handler that each had a logger would give their lines the same numbers.
            with self._making:
                self._logger = self._logger or self._records.logger_of(self._attempt)
        return self._logger

    @property
    def cancelled(self) -> bool:
        """True once the attempt should end."""
        return self.cancellation.requested

    def progress(self, percent: float, message: str | None = None) -> None:
        """Say how far the work is, 0 to 100; the newest report is shown with the execution."""
        self._records.report(self._attempt, min(max(float(percent), 0.0), 100.0), message)


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

    def check(self, handler_type: HandlerType, name: str, payload: Json, *, known: Collection[str] = ()) -> None:
        """
        Refuse a payload that the handler could never run, before a job is stored.

        A function handler that this process does not know is not an error here: another node may have it.
        `known` are the capabilities of live nodes, of which any may run the job.

        Raises:
            InvalidJob: names each field, as `payload.url`, or `handler_type` when the type is not
                available or not allowed on this node or on any of those.
        """
