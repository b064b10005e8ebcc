"""Any answer of the scheduler as the JSON that the HTTP API gives for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ...domain.event import ACTION_TYPES, Event, EventHandler
from ...domain.impact import Impact
from ...domain.job import JobType, ScheduledJob
from ...domain.json import Json
from ...domain.ledger import Fate, LedgerReport
from ...ports.event_requests import EventOutcome, EventReport, FeedItem
from ...ports.overviews import Series, UpcomingFires
from ...ports.reports import JobStatistics, Metrics, PreviewedFire
from ...ports.stores import Page

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_COUNTERS: Final = ("executions_count", "success_count", "failure_count", "consecutive_failures", "avg_duration_ms")
_MILLISECOND: Final = timedelta(milliseconds=1)
_INTERNAL: Final = frozenset({"exhausted", "last_nominal", "holds_slot"})


def to_json(value: object) -> Json:
    """
    Write a value under its field names: instants in ISO 8601 with `Z`, enums as their values, lists never null.

    A job is flat: its definition and its counters stand beside its own fields.
    """
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case StrEnum() | UUID() | Path() | date():
            return str(value)
        case None | bool() | int() | float() | str():
            return value
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


def encode_line(value: object) -> str:
    """Write a value as JSON text of one line, as for `encode`."""
    return json.dumps(to_json(value), ensure_ascii=True)


def _record(value: object) -> dict[str, Json]:
    return _WRITERS.get(type(value), _members)(value)


def _page(page: Page[Any]) -> dict[str, Json]:
    seen = None if page.offset is None else page.offset + len(page.items)
    more = page.next_cursor is not None or (seen is not None and seen < page.total)
    return _members(page) | {"has_next": more}


def _fire(fire: PreviewedFire) -> dict[str, Json]:
    return _members(fire) | {"local": fire.local.isoformat()}


def _statistics(stats: JobStatistics) -> dict[str, Json]:
    return _without(stats, "durations") | _members(stats.durations)


def _metrics(metrics: Metrics) -> dict[str, Json]:
    performance = {"success_rate": metrics.success_rate} | _members(metrics.durations) | _members(metrics.lateness)
    return _without(metrics, "success_rate", "durations", "lateness") | {"performance": performance}


def _ledger(report: LedgerReport) -> dict[str, Json]:
    totals = report.totals
    counts: dict[str, Json] = {fate.value: totals.of(fate) for fate in Fate}
    return _without(report, "window") | {
        "since": to_json(report.window.after),
        "until": to_json(report.window.until),
        "is_clean": report.is_clean,
        "totals": counts | {"nominal_times": totals.nominal_times, "skipped": to_json(totals.skipped)},
    }


def _job(job: ScheduledJob) -> dict[str, Json]:
    definition = job.definition
    once = definition.type is JobType.ONE_TIME and definition.schedule is not None
    return (
        _without(job, "definition", "counters", "outcome", "depth")
        | {"created_in": None if job.created_in is None else job.created_in.traceparent}
        | _members(definition)
        | {name: getattr(job.counters, name) for name in _COUNTERS}
        | {"execute_at": to_json(datetime.fromisoformat(definition.schedule or "")) if once else None}
    )


def _event(event: Event) -> dict[str, Json]:
    trace = event.trace
    return _without(event, "trace") | {
        "trace_id": trace.trace_id,
        "span_id": trace.span_id,
        "trace_flags": trace.flags,
        "tracestate": trace.tracestate,
    }


def _event_report(report: EventReport) -> dict[str, Json]:
    return _event(report.event) | {"executions": to_json(report.executions)}


def _event_outcome(outcome: EventOutcome) -> dict[str, Json]:
    return _without(outcome, "execution_ids", "is_duplicate") | {
        "executions": to_json(outcome.execution_ids),
        "duplicate": outcome.is_duplicate,
    }


def _event_handler(handler: EventHandler) -> dict[str, Json]:
    own = _without(handler, "definition", "counters")
    return own | _members(handler.definition) | _members(handler.counters)


def _impact(impact: Impact) -> dict[str, Json]:
    return _members(impact) | {"matched": impact.matched, "hash": impact.hash}


def _fact(item: FeedItem) -> dict[str, Json]:
    return {"position": item.position} | ({} if item.fact is None else _event(item.fact))


def _series(series: Series) -> dict[str, Json]:
    width = series.bucket // _MILLISECOND
    return {"period": series.period.value, "bucket_ms": width, "share": series.share, "items": to_json(series.points)}


def _upcoming(upcoming: UpcomingFires) -> dict[str, Json]:
    return {"items": to_json(upcoming.fires), "truncated": upcoming.truncated}


def _action(name: str) -> Callable[[object], dict[str, Json]]:
    return lambda action: {"type": name} | _members(action)


def _without(value: object, *left_out: str) -> dict[str, Json]:
    return {name: item for name, item in _members(value).items() if name not in left_out}


def _members(value: object) -> dict[str, Json]:
    record: DataclassInstance = value  # type: ignore[assignment]
    return {each.name: to_json(getattr(record, each.name)) for each in fields(record) if each.name not in _INTERNAL}


_WRITERS: Final[Mapping[type, Callable[[Any], dict[str, Json]]]] = MappingProxyType(
    {
        ScheduledJob: _job,
        Event: _event,
        EventReport: _event_report,
        EventOutcome: _event_outcome,
        EventHandler: _event_handler,
        Impact: _impact,
        FeedItem: _fact,
        **{kind: _action(name) for name, kind in ACTION_TYPES.items()},
        Page: _page,
        PreviewedFire: _fire,
        JobStatistics: _statistics,
        LedgerReport: _ledger,
        Metrics: _metrics,
        Series: _series,
        UpcomingFires: _upcoming,
    }
)
"""What is not written member by member, as the API has it."""
