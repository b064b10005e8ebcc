"""Executions as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from ...domain.attempt import Attempt
from ...domain.execution import ExecutionStatus, JobExecution, OpenExecution, Origin, PastAttempt, SkipReason
from ...domain.json import document_of, document_text, encoded
from ...domain.stored import shared_definition
from .instants import from_micros, to_micros
from .transaction import NULL, Row


def past_attempt_text(past: PastAttempt) -> str:
    """Write one element of `past_attempts`."""
    return encoded(
        {
            "attempt": past.attempt,
            "started_at": to_micros(past.started_at),
            "ended_at": to_micros(past.ended_at),
            "outcome": past.outcome,
            "error": past.error,
            "error_type": past.error_type,
            "worker_id": past.worker_id,
        },
    )


def _past_attempts_of(text: str) -> tuple[PastAttempt, ...]:
    return tuple(
        PastAttempt(
            **{**past, "started_at": from_micros(past["started_at"]), "ended_at": from_micros(past["ended_at"])},
        )
        for past in json.loads(text)
    )


def _past_attempts_text(past: tuple[PastAttempt, ...]) -> str:
    return f"[{','.join(map(past_attempt_text, past))}]"


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


_Converters = Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]

_INSTANT: Final = (to_micros, from_micros)
_ID: Final = (str, _optional(UUID))
_DOCUMENT: Final = (document_text, document_of)

_CONVERTERS: Final[_Converters] = MappingProxyType(
    {
        "id": _ID,
        "job_id": _ID,
        "event_id": _ID,
        "event_handler_id": _ID,
        "retry_of": _ID,
        "status": (attrgetter("value"), ExecutionStatus),
        "origin": (attrgetter("value"), Origin),
        "skip_reason": (attrgetter("value"), _optional(SkipReason)),
        "scheduled_at": _INSTANT,
        "created_at": _INSTANT,
        "available_at": _INSTANT,
        "dispatched_at": _INSTANT,
        "started_at": _INSTANT,
        "completed_at": _INSTANT,
        "next_retry_at": _INSTANT,
        "covers_until": _INSTANT,
        "lease_expires_at": _INSTANT,
        "holds_slot": (int, bool),
        "payload": _DOCUMENT,
        "result": _DOCUMENT,
        "metadata": (encoded, document_of),
        "past_attempts": (_past_attempts_text, _past_attempts_of),
    },
)
"""How a field that is there is written, and how any is read, where a row does not hold it as it is."""

_FIELDS: Final = tuple(field.name for field in fields(JobExecution))
_CONVERTED: Final = tuple((name, *_CONVERTERS[name]) for name in _FIELDS if name in _CONVERTERS)
_VALUES: Final = attrgetter(*_FIELDS)
_WRITERS: Final = tuple(_CONVERTERS[name][0] if name in _CONVERTERS else None for name in _FIELDS)


def execution_row(execution: JobExecution) -> tuple[object, ...]:
    """Write a whole execution, its fields in the order in which `JobExecution` has them."""
    return tuple(
        [
            NULL if value is None else value if write is None else write(value)
            for value, write in zip(_VALUES(execution), _WRITERS, strict=True)
        ]
    )


def execution_of(row: Row) -> JobExecution:
    """Read a whole execution."""
    values = {name: row[name] for name in _FIELDS}
    for name, _, read in _CONVERTED:
        values[name] = read(values[name])
    return JobExecution(**values)


def open_execution_of(row: Row) -> OpenExecution:
    """Read what counts of an execution that is to be cancelled."""
    return OpenExecution(
        id=UUID(row["id"]),
        job_id=UUID(row["job_id"]),
        status=ExecutionStatus(row["status"]),
        origin=Origin(row["origin"]),
        scheduled_at=from_micros(row["scheduled_at"]),
        available_at=from_micros(row["available_at"]),
        holds_slot=bool(row["holds_slot"]),
    )


def attempt_of(row: Row, *, claimed_at: datetime | None = None) -> Attempt:
    """Read what a node, or a sweeper, needs to know of an execution and its job."""
    held = {
        **row,
        "id": UUID(row["id"]),
        "job_id": UUID(row["job_id"]),
        "payload": document_of(row["payload"]),
        "scheduled_at": from_micros(row["scheduled_at"]),
        "started_at": from_micros(row["started_at"]),
        "created_at": from_micros(row["created_at"]),
        "available_at": from_micros(row["available_at"]),
        "event_id": None if row["event_id"] is None else UUID(row["event_id"]),
    }
    definition, had_begun = shared_definition(row["definition"]), bool(row["had_begun"])
    return Attempt.of(definition, held, claimed_at=claimed_at, had_begun=had_begun)
