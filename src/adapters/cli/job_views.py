"""Jobs, their fires to come and their figures, drawn for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from rich.console import Group, RenderableType
from rich.text import Text

from ...domain.job import JobDefinition, ScheduledJob
from ...ports.overviews import Outcome
from ...ports.reports import JobStatistics, Preview, PreviewedFire
from ...ports.stores import Page
from .documents import encode
from .strips import legend, strip
from .tables import Cell, ago, facts, moment, rows, state
from .texts import counted, milliseconds, percent, visible, written


def job_list(page: Page[ScheduledJob], outcomes: Mapping[UUID, Sequence[Outcome]]) -> RenderableType:
    """Draw jobs as rows, each with its newest outcomes, the newest of them at the right."""
    return rows(
        ("id", "name", "status", "schedule", "next run", "last run", "outcomes", "runs", "failures"),
        (
            (
                str(job.id),
                job.definition.name,
                state(job.status),
                _when(job.definition),
                ago(job.next_run),
                ago(job.last_run),
                strip(outcomes.get(job.id, ())),
                job.counters.executions_count,
                job.counters.failure_count,
            )
            for job in page.items
        ),
        empty="no jobs",
        spare=("runs", "failures", "last run", "id"),
    )


def job_facts(job: ScheduledJob, outcomes: Sequence[Outcome] = ()) -> RenderableType:
    """Draw all of one job that matters to people; `--json` has the rest."""
    definition, counters = job.definition, job.counters
    return facts(
        {
            "id": str(job.id),
            "name": definition.name,
            "key": definition.key,
            "description": definition.description,
            "status": state(job.status),
            "schedule": f"{_when(definition)} ({definition.type.value})",
            "next run": moment(job.next_run),
            "last run": moment(job.last_run),
            "starts": moment(definition.start_date),
            "ends": moment(definition.end_date),
            "at most": None if definition.max_executions is None else counted(definition.max_executions, "execution"),
            "handler": f"{definition.handler_name} ({definition.handler_type.value})",
            "payload": None if definition.payload is None else _json(definition.payload),
            "tags": ", ".join(definition.tags) or None,
            "priority": definition.priority,
            "concurrency": f"{definition.concurrency}, overlap {definition.overlap_policy.value}",
            "misfires": f"{definition.misfire_policy.value}, on time within {definition.misfire_grace_seconds} s",
            "retries": _retries(definition),
            "time limit": milliseconds(definition.timeout_ms),
            "runs": f"{counters.executions_count}: {counters.success_count} succeeded, {counters.failure_count} failed",
            "mean duration": None if counters.avg_duration_ms is None else milliseconds(counters.avg_duration_ms),
            "outcomes": strip(outcomes),
            "": legend(list(dict.fromkeys(each.status for each in outcomes))) if outcomes else None,
            "created": moment(job.created_at),
            "updated": moment(job.updated_at),
            "version": job.version,
        },
    )


def fires(preview: Preview) -> RenderableType:
    """Draw the fires to come, with the schedule in words above them."""
    table = rows(
        ("local time", "UTC", "when", "note"),
        (
            (written(fire.local), f"{fire.scheduled_at:%Y-%m-%dT%H:%M:%SZ}", ago(fire.scheduled_at), _note(fire))
            for fire in preview.fires
        ),
        empty="no fires to come",
    )
    return Group(Text(visible(preview.description), style="bold"), table)


def figures(stats: JobStatistics) -> RenderableType:
    """Draw one job's figures."""
    durations = stats.durations
    table = facts(
        {
            "job": str(stats.job_id),
            "executions": stats.total_executions,
            "successful": stats.successful,
            "failed": stats.failed,
            "timed out": stats.timeout,
            "cancelled": stats.cancelled,
            "skipped": stats.skipped,
            "success rate": percent(stats.success_rate),
            "duration": None
            if durations.avg_duration_ms is None
            else ", ".join(
                f"{name} {milliseconds(value)}"
                for name, value in (
                    ("mean", durations.avg_duration_ms),
                    ("min", durations.min_duration_ms),
                    ("p50", durations.p50_duration_ms),
                    ("p95", durations.p95_duration_ms),
                    ("p99", durations.p99_duration_ms),
                    ("max", durations.max_duration_ms),
                )
                if value is not None
            ),
            "last execution": moment(stats.last_execution),
            "next execution": moment(stats.next_execution),
            "busiest hours": ", ".join(f"{each.hour:02}:00 UTC ({each.count})" for each in stats.busiest_hours[:3])
            or None,
        },
    )
    failures = rows(
        ("failure", "count", "last seen", "last error"),
        ((each.error_type, each.count, ago(each.last_seen), each.last_error) for each in stats.failure_patterns),
        empty="no failures",
    )
    return Group(table, Text(), failures)


def _when(definition: JobDefinition) -> str:
    if definition.schedule is None:
        return "when triggered"
    return definition.schedule if definition.timezone == "UTC" else f"{definition.schedule} {definition.timezone}"


def _retries(definition: JobDefinition) -> str:
    if not definition.max_retries:
        return "none"
    delay = milliseconds(definition.retry_delay_ms)
    return f"{definition.max_retries}, {definition.backoff.value} from {delay}"


def _note(fire: PreviewedFire) -> Cell:
    skipped = f"skipped ({fire.skip_reason.value})" if fire.skip_reason else "skipped" if fire.skipped else None
    return "; ".join(part for part in (skipped, fire.note) if part)


def _json(value: object) -> RenderableType:
    return Text(encode(value))
