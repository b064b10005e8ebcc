"""Nodes, metrics, health, settings and the schema, drawn for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from rich.console import Group, RenderableType
from rich.text import Text

from ...ports.reports import Health, Metrics, QueueState
from ...ports.stores import Worker
from .factories import Migration, SettingRow
from .tables import ago, facts, moment, rows, state
from .texts import counted, milliseconds, percent, span, wall


def worker_list(workers: Sequence[Worker]) -> RenderableType:
    """Draw nodes as rows."""
    return rows(
        ("id", "status", "roles", "running", "capacity", "started", "heartbeat", "version"),
        (
            (
                each.id,
                status_of(each),
                ", ".join(each.roles),
                None if each.is_gone else each.running,
                each.capacity,
                ago(each.started_at),
                ago(each.heartbeat_at),
                each.version,
            )
            for each in workers
        ),
        empty="no workers",
        spare=("version", "roles", "started"),
    )


def status_of(worker: Worker) -> Text:
    """Draw a worker's status, and what it has been asked and not yet followed."""
    is_asked = worker.drain_requested and worker.status == "live"
    return state("live").append(", asked to drain") if is_asked else state(worker.status)


def metrics_facts(metrics: Metrics) -> RenderableType:
    """Draw a tenant's figures over a period, and what waits now."""
    queue, system = metrics.queue, metrics.system
    return facts(
        {
            "period": f"{metrics.time_range.value}, since {wall(metrics.since)}",
            "jobs": _counts(metrics.jobs),
            "executions": _counts(metrics.executions),
            "success rate": percent(metrics.success_rate),
            "duration": _percentiles(
                metrics.durations.p50_duration_ms, metrics.durations.p95_duration_ms, metrics.durations.p99_duration_ms
            ),
            "lateness": _percentiles(
                metrics.lateness.p50_lateness_ms, metrics.lateness.p95_lateness_ms, metrics.lateness.p99_lateness_ms
            ),
            "queue": _counts({name: getattr(queue, name) for name in ("ready", "waiting", "retrying", "running")}),
            "unclaimed": _counts(queue.unclaimed),
            "due": _due(queue),
            "workers": f"{system.live_workers} live, {system.running} of {system.capacity} slots in use",
            "anomalies": system.anomalies,
            "version": system.version,
        },
    )


def health_facts(health: Health) -> RenderableType:
    """Draw the state of the node that answered, part by part."""
    summary = facts(
        {
            "status": state(health.status),
            "up for": span(timedelta(seconds=health.uptime_seconds)),
            "at": wall(health.timestamp),
        },
    )
    parts = rows(
        ("component", "status", "detail"),
        ((name, state(part.status), part.detail) for name, part in health.components.items()),
        empty="no components",
    )
    return Group(summary, Text(), parts)


def setting_list(settings: Sequence[SettingRow]) -> RenderableType:
    """Draw settings as rows."""
    return rows(
        ("setting", "value", "source"), ((each.name, each.value, each.source) for each in settings), empty="no settings"
    )


def migration_list(migrations: Sequence[Migration]) -> RenderableType:
    """Draw steps of the schema as rows."""
    return rows(
        ("version", "name", "applied"),
        ((each.version, each.name, moment(each.applied_at)) for each in migrations),
        empty="nothing to do",
    )


def _due(queue: QueueState) -> str:
    return f"{counted(queue.due_jobs, 'job')}, the oldest for {span(timedelta(seconds=queue.oldest_due_seconds))}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "none"


def _percentiles(p50: int | None, p95: int | None, p99: int | None) -> str | None:
    if p50 is None or p95 is None or p99 is None:
        return None
    return f"p50 {milliseconds(p50)}, p95 {milliseconds(p95)}, p99 {milliseconds(p99)}"
