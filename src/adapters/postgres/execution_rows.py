"""Executions as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from ...domain.attempt import Attempt
from ...domain.execution import ExecutionStatus, JobExecution, OpenExecution, Origin, PastAttempt, SkipReason
from ...domain.json import document_of, document_text, encoded
from ...domain.stored import shared_definition
from ...ports.dispatcher import Dispatch
from .transaction import Parameters, Row


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


def open_execution_of(row: Row) -> OpenExecution:
    """Read what counts of an execution that is to be cancelled."""
    return OpenExecution(**{**row, "status": ExecutionStatus(row["status"]), "origin": Origin(row["origin"])})


def attempt_of(row: Row) -> Attempt:
    """Read what a node, or a sweeper, needs to know of an execution and its job."""
    held = {**row, "payload": document_of(row["payload"])}
    return Attempt.of(shared_definition(row["definition"]), held)


def dispatch_of(row: Row) -> Dispatch:
    """Read what routes an execution."""
    return Dispatch(
        execution_id=row["id"],
        capability=shared_definition(row["definition"]).capability,
        priority=row["priority"],
    )
