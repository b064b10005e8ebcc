"""Executions as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, cast

from ...domain.attempt import Attempt
from ...domain.execution import ExecutionStatus, JobExecution, Origin, PastAttempt, SkipReason
from ...domain.job import JobDefinition
from ...domain.json import Json, encoded
from ...domain.stored import shared_definition
from ...ports.dispatcher import Dispatch
from .transaction import Parameters, Row


def document_text(value: Json) -> str | None:
    """Write a document; nothing is no document."""
    return None if value is None else encoded(value)


def document_of(text: str | None) -> Json:
    """Read a document."""
    return None if text is None else cast("Json", json.loads(text))


def with_past_attempt(text: str, past: PastAttempt | None) -> str:
    """Append to the text of `past_attempts`."""
    if past is None:
        return text
    return f"{text[:-1]}{'' if text == '[]' else ','}{_past_attempt_text(past)}]"


def _past_attempt_text(past: PastAttempt) -> str:
    return encoded(
        {
            "attempt": past.attempt,
            "started_at": None if past.started_at is None else past.started_at.isoformat(),
            "ended_at": past.ended_at.isoformat(),
            "outcome": past.outcome,
            "error": past.error,
            "error_type": past.error_type,
            "worker_id": past.worker_id,
        },
    )


def _past_attempts_text(past: tuple[PastAttempt, ...]) -> str:
    return f"[{','.join(map(_past_attempt_text, past))}]"


def _past_attempts_of(text: str) -> tuple[PastAttempt, ...]:
    return tuple(
        PastAttempt(**{**past, "started_at": _instant(past["started_at"]), "ended_at": _instant(past["ended_at"])})
        for past in json.loads(text)
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


_Converters = Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]

_DOCUMENT: Final = (document_text, document_of)

_CONVERTERS: Final[_Converters] = MappingProxyType(
    {
        "status": (attrgetter("value"), ExecutionStatus),
        "origin": (attrgetter("value"), Origin),
        "skip_reason": (_optional(attrgetter("value")), _optional(SkipReason)),
        "payload": _DOCUMENT,
        "result": _DOCUMENT,
        "metadata": (encoded, document_of),
        "past_attempts": (_past_attempts_text, _past_attempts_of),
    },
)
"""How a field is written and read, where a row does not hold it as it is."""

_FIELDS: Final = tuple(field.name for field in fields(JobExecution))
_CONVERTED: Final = tuple((name, *_CONVERTERS[name]) for name in _FIELDS if name in _CONVERTERS)


def execution_row(execution: JobExecution) -> Parameters:
    """Write a whole execution."""
    row = {name: getattr(execution, name) for name in _FIELDS}
    for name, write, _ in _CONVERTED:
        row[name] = write(row[name])
    return row


def execution_of(row: Row) -> JobExecution:
    """Read a whole execution."""
    values = {name: row[name] for name in _FIELDS}
    for name, _, read in _CONVERTED:
        values[name] = read(values[name])
    return JobExecution(**values)


def attempt_of(row: Row) -> Attempt:
    """Read what a node, or a sweeper, needs to know of an execution and its job."""
    definition = shared_definition(row["definition"])
    return Attempt(
        execution_id=row["id"],
        job_id=row["job_id"],
        tenant_id=row["tenant_id"],
        job_name=definition.name,
        handler_type=definition.handler_type,
        handler_name=definition.handler_name,
        payload=_payload(row, definition),
        attempt=row["attempt"],
        failures=row["failures"],
        max_retries=row["max_retries"],
        retry_delay_ms=definition.retry_delay_ms,
        backoff=definition.backoff,
        retry_jitter=definition.retry_jitter,
        timeout_ms=definition.timeout_ms,
        lock_timeout_seconds=definition.lock_timeout_seconds,
        scheduled_at=row["scheduled_at"],
        started_at=row["started_at"] or row["created_at"],
        idempotency_key=row["idempotency_key"],
        correlation_id=row["correlation_id"],
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        parent_span_id=row["parent_span_id"],
    )


def dispatch_of(row: Row) -> Dispatch:
    """Read what routes an execution."""
    return Dispatch(
        execution_id=row["id"],
        capability=shared_definition(row["definition"]).capability,
        priority=row["priority"],
    )


def _payload(row: Row, definition: JobDefinition) -> Json:
    """Give a handler a payload that it may change without changing the next one's."""
    if row["payload"] is not None:
        return document_of(row["payload"])
    return document_of(document_text(definition.payload))
