"""Any answer of the scheduler as the JSON that the HTTP API gives for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ...domain.job import JobType, ScheduledJob
from ...domain.json import Json
from ...ports.reports import JobStatistics, Metrics, PreviewedFire
from ...ports.stores import Page

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_COUNTERS: Final = ("executions_count", "success_count", "failure_count", "consecutive_failures", "avg_duration_ms")
_INTERNAL: Final = frozenset({"exhausted", "last_nominal", "holds_slot"})


def to_json(value: object) -> Json:
    """
    Write a value under its field names: instants in ISO 8601 with `Z`, enums as their values, lists never null.

    A job is flat: its definition and its counters stand beside its own fields.
    """
    match value:
        case StrEnum() | UUID() | Path():
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case Mapping():
            return {str(key): to_json(item) for key, item in value.items()}
        case Sequence():
            return [to_json(item) for item in value]
        case _:
            return _record(value)


def listing(items: Sequence[object]) -> Mapping[str, object]:
    """Put a list that comes whole into the envelope of every list."""
    return {"items": items, "total": len(items), "limit": None, "offset": None, "next_cursor": None, "has_next": False}


def encode(value: object) -> str:
    """Write a value as indented JSON text; what no terminal can show is escaped."""
    return json.dumps(to_json(value), indent=2, ensure_ascii=True)


def _record(value: object) -> dict[str, Json]:
    match value:
        case ScheduledJob():
            return _job(value)
        case Page():
            seen = None if value.offset is None else value.offset + len(value.items)
            more = value.next_cursor is not None or (seen is not None and seen < value.total)
            return _members(value) | {"has_next": more}
        case PreviewedFire():
            return _members(value) | {"local": value.local.isoformat()}
        case JobStatistics():
            return _without(value, "durations") | _members(value.durations)
        case Metrics():
            performance = {"success_rate": value.success_rate} | _members(value.durations) | _members(value.lateness)
            return _without(value, "success_rate", "durations", "lateness") | {"performance": performance}
        case _:
            return _members(value)


def _job(job: ScheduledJob) -> dict[str, Json]:
    definition = job.definition
    once = definition.type is JobType.ONE_TIME and definition.schedule is not None
    return (
        _without(job, "definition", "counters", "outcome")
        | _members(definition)
        | {name: getattr(job.counters, name) for name in _COUNTERS}
        | {"execute_at": to_json(datetime.fromisoformat(definition.schedule or "")) if once else None}
    )


def _without(value: object, *left_out: str) -> dict[str, Json]:
    return {name: item for name, item in _members(value).items() if name not in left_out}


def _members(value: object) -> dict[str, Json]:
    record: DataclassInstance = value  # type: ignore[assignment]
    return {each.name: to_json(getattr(record, each.name)) for each in fields(record) if each.name not in _INTERNAL}
