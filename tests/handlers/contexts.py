"""Contexts to call handlers with, and what they wrote to them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from tocsin.domain.attempt import Attempt
from tocsin.domain.job import JobDefinition, JobType
from tocsin.domain.json import Json
from tocsin.domain.trace import TraceContext
from tocsin.ports.handlers import HandlerContext


@dataclass(slots=True)
class WrittenLog:
    """An execution's log that keeps every line as (level, message, fields)."""

    lines: list[tuple[str, str, dict[str, Json]]] = field(default_factory=list)

    def debug(self, message: str, **fields: Json) -> None:
        self.lines.append(("debug", message, fields))

    def info(self, message: str, **fields: Json) -> None:
        self.lines.append(("info", message, fields))

    def warning(self, message: str, **fields: Json) -> None:
        self.lines.append(("warning", message, fields))

    def error(self, message: str, **fields: Json) -> None:
        self.lines.append(("error", message, fields))

    def of(self, stream: str) -> list[str]:
        return [message for _, message, fields in self.lines if fields.get("stream") == stream]


class Cancelling:
    """A cancellation that a test requests."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def requested(self) -> bool:
        return self._event.is_set()

    def request(self) -> None:
        self._event.set()

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)


SCHEDULED_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)

AN_ATTEMPT = Attempt(
    JobDefinition(name="nightly", type=JobType.EVENT, handler_name="work"),
    execution_id=UUID("01890a5d-ac96-774b-bcce-b302099a8057"),
    job_id=UUID("01890a5d-ac96-774b-bcce-b302099a8058"),
    tenant_id="default",
    payload=None,
    attempt=2,
    failures=1,
    max_retries=3,
    scheduled_at=SCHEDULED_AT,
    started_at=SCHEDULED_AT,
    idempotency_key="key-1",
)


@dataclass(frozen=True, slots=True)
class Records:
    """Records of one attempt that a test reads."""

    log: WrittenLog

    def logger_of(self, _: Attempt) -> WrittenLog:
        return self.log

    def report(self, attempt: Attempt, percent: float, message: str | None) -> None:
        pass


def a_context(
    payload: Json = None,
    *,
    log: WrittenLog | None = None,
    trace: TraceContext | None = None,
    idempotency_key: str = "key-1",
) -> HandlerContext:
    """Make a context of its own log, for one call with a payload."""
    attempt = replace(AN_ATTEMPT, payload=payload, idempotency_key=idempotency_key)
    return HandlerContext(attempt, cancellation=Cancelling(), records=Records(log or WrittenLog()), trace=trace)
