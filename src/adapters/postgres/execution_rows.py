"""Executions as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from ...domain.attempt import Attempt
from ...domain.execution import ExecutionStatus, JobExecution, OpenExecution, Origin, PastAttempt, SkipReason
from ...domain.job import JobDefinition
from ...domain.json import Json, document_of, document_text, encoded
from ...domain.stored import shared_definition
from ...domain.trace import SAMPLED
from ...ports.dispatcher import Dispatch
from .transaction import Row


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
    return f"[{','.join(map(_past_attempt_text, past))}]" if past else "[]"


def _past_attempts_of(text: str) -> tuple[PastAttempt, ...]:
    return tuple(
        PastAttempt(**{**past, "started_at": _instant(past["started_at"]), "ended_at": _instant(past["ended_at"])})
        for past in json.loads(text)
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _metadata_text(metadata: Json) -> str:
    return "{}" if metadata == {} else encoded(metadata)


_Converters = Mapping[str, tuple[Callable[[Any], Any] | None, Callable[[Any], Any]]]

_DOCUMENT: Final = (document_text, document_of)

_CONVERTERS: Final[_Converters] = MappingProxyType(
    {
        "status": (None, ExecutionStatus),
        "origin": (None, Origin),
        "skip_reason": (None, _optional(SkipReason)),
        "payload": _DOCUMENT,
        "result": _DOCUMENT,
        "metadata": (_metadata_text, document_of),
        "past_attempts": (_past_attempts_text, _past_attempts_of),
    },
)
"""How a field is written, unless as it is, and read, where a row does not hold it as it is."""

_FIELDS: Final = tuple(field.name for field in fields(JobExecution))
_READERS: Final = tuple((name, _CONVERTERS[name][1]) for name in _FIELDS if name in _CONVERTERS)
_USUAL: Final = MappingProxyType(
    {
        "status": ExecutionStatus.PENDING,
        "origin": Origin.SCHEDULE,
        "attempt": 0,
        "failures": 0,
        "depth": 0,
        "trace_flags": SAMPLED,
        "past_attempts": (),
        "metadata": {},
    }
)
"""What nearly every new execution has in these fields, and null in most others: as `insert_executions` has it."""
_GETTERS: Final = MappingProxyType({name: attrgetter(name) for name in _FIELDS})


def execution_columns(executions: Sequence[JobExecution], names: Iterable[str] = _FIELDS) -> dict[str, list[Any]]:
    """Write executions as one list for each of these fields."""
    return {name: _written(name, list(map(_GETTERS[name], executions))) for name in names}


def new_execution_columns(executions: Sequence[JobExecution], names: Iterable[str]) -> dict[str, list[Any]]:
    """
    Write executions as `execution_columns` does; a list that would hold nothing but what is usual is empty.

    Each element that crosses costs more than it takes to make it, and most of a new execution's are usual.
    """
    columns = {name: list(map(_GETTERS[name], executions)) for name in names}
    everywhere = len(executions)
    return {
        name: [] if column.count(_USUAL.get(name)) == everywhere else _written(name, column)
        for name, column in columns.items()
    }


def _written(name: str, column: list[Any]) -> list[Any]:
    write, _ = _CONVERTERS.get(name, (None, None))
    return column if write is None else list(map(write, column))


def execution_of(row: Row) -> JobExecution:
    """Read a whole execution."""
    values = {name: row[name] for name in _FIELDS}
    for name, read in _READERS:
        values[name] = read(values[name])
    return JobExecution(**values)


def open_execution_of(row: Row) -> OpenExecution:
    """Read what counts of an execution that is to be cancelled."""
    return OpenExecution(**{**row, "status": ExecutionStatus(row["status"]), "origin": Origin(row["origin"])})


def attempt_of(
    row: Row, definition: JobDefinition, *, claimed_at: datetime | None = None, had_begun: bool = False
) -> Attempt:
    """Read what a node, or a sweeper, needs to know of an execution of a job."""
    held = row if row["payload"] is None else {**row, "payload": document_of(row["payload"])}
    return Attempt.of(definition, held, claimed_at=claimed_at, had_begun=had_begun)


def dispatch_of(row: Row) -> Dispatch:
    """Read what routes an execution."""
    return Dispatch(
        execution_id=row["id"],
        capability=shared_definition(row["definition"]).capability,
        priority=row["priority"],
    )
