"""Contexts to call handlers with, and what they wrote to them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from tocsin.domain.json import Json
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

A_CONTEXT = HandlerContext(
    execution_id=UUID("01890a5d-ac96-774b-bcce-b302099a8057"),
    job_id=UUID("01890a5d-ac96-774b-bcce-b302099a8058"),
    job_name="nightly",
    tenant_id="default",
    handler_name="work",
    attempt=2,
    scheduled_at=SCHEDULED_AT,
    deadline=SCHEDULED_AT + timedelta(minutes=5),
    payload=None,
    idempotency_key="key-1",
    logger=WrittenLog(),
    cancellation=Cancelling(),
    report_progress=lambda _percent, _message: None,
)


def a_context(payload: Json = None, *, log: WrittenLog | None = None) -> HandlerContext:
    """Make a context of its own log, for one call with a payload."""
    return replace(A_CONTEXT, payload=payload, logger=log or WrittenLog(), cancellation=Cancelling())
