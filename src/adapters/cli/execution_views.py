"""Executions and their logs, drawn for people."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from rich.console import Group, RenderableType
from rich.text import Text

from ...domain.execution import JobExecution, Origin
from ...domain.json import Json
from ...ports.ledger import LogLine
from ...ports.stores import Page
from .documents import encode
from .tables import ago, facts, moment, rows, state
from .texts import counted, milliseconds, visible, wall

_LEVELS = {"error": "red", "warning": "yellow", "debug": "dim"}


def execution_list(page: Page[JobExecution]) -> RenderableType:
    """Draw executions as rows."""
    return rows(
        ("id", "scheduled", "when", "status", "origin", "attempt", "duration", "detail"),
        (
            (
                str(each.id),
                wall(each.scheduled_at),
                ago(each.scheduled_at),
                state(each.status),
                each.origin.value,
                each.attempt,
                _duration(each),
                _detail(each),
            )
            for each in page.items
        ),
        empty="no executions",
        spare=("when", "origin", "attempt"),
    )


def executions_of_jobs(page: Page[JobExecution], names: Mapping[UUID, str]) -> RenderableType:
    """Draw executions of several jobs as rows of at most 120 columns, were it not for names and details."""
    return rows(
        ("id", "job", "scheduled", "status", "duration", "detail"),
        (
            (
                str(each.id),
                names.get(each.job_id, str(each.job_id)),
                wall(each.scheduled_at),
                state(each.status),
                _duration(each),
                _exceptional(each),
            )
            for each in page.items
        ),
        empty="no executions",
    )


def execution_facts(execution: JobExecution) -> RenderableType:
    """Draw one execution with its past attempts."""
    table = facts(
        {
            "id": str(execution.id),
            "job": f"{execution.job_id} (version {execution.job_version})",
            "status": state(execution.status),
            "origin": execution.origin.value,
            "retry of": str(execution.retry_of) if execution.retry_of else None,
            "scheduled": moment(execution.scheduled_at),
            "available": moment(execution.available_at),
            "started": moment(execution.started_at),
            "completed": moment(execution.completed_at),
            "duration": _duration(execution),
            "attempt": ", ".join(
                (
                    str(execution.attempt),
                    counted(execution.failures, "failure"),
                    f"{counted(execution.max_retries, 'retry', 'retries')} allowed",
                )
            ),
            "next retry": moment(execution.next_retry_at),
            "worker": execution.worker_id,
            "skipped": _skipped(execution),
            "progress": _progress(execution.metadata),
            "error": _error(execution),
            "stack": None if execution.error_stack is None else _block(execution.error_stack),
            "result": None if execution.result is None else Text(encode(execution.result)),
            "payload": None if execution.payload is None else Text(encode(execution.payload)),
            "idempotency key": execution.idempotency_key,
            "metadata": _metadata(execution.metadata),
            "event": None if execution.event_id is None else str(execution.event_id),
            "event handler": None if execution.event_handler_id is None else str(execution.event_handler_id),
            "depth": execution.depth or None,
            "correlation": execution.correlation_id,
            "trace": execution.trace_id,
            "span": execution.span_id,
        },
    )
    if not execution.past_attempts:
        return table
    attempts = rows(
        ("attempt", "outcome", "ended", "worker", "error"),
        (
            (each.attempt, each.outcome, wall(each.ended_at), each.worker_id, each.error)
            for each in execution.past_attempts
        ),
        empty="",
    )
    return Group(table, Text(), Text("past attempts", style="bold"), attempts)


def log(page: Page[LogLine]) -> RenderableType:
    """Draw log lines, one below the other."""
    if not page.items:
        return Text("no log lines", style="dim")
    return Text("\n").join(log_line(each) for each in page.items)


def log_line(line: LogLine) -> Text:
    """Draw one log line."""
    instant = line.logged_at.astimezone()
    text = Text(f"{instant:%H:%M:%S}.{instant.microsecond // 1000:03} ", style="dim")
    text.append(f"{line.attempt} ", style="dim")
    text.append(f"{visible(line.level):<8}", style=_LEVELS.get(line.level, ""))
    text.append(visible(line.message))
    return text.append(_fields(line.fields), style="dim")


def _fields(fields: Json) -> str:
    match fields:
        case dict() if fields:
            return "".join(f" {visible(name)}={visible(str(value))}" for name, value in fields.items())
        case _:
            return ""


def _progress(metadata: Json) -> str | None:
    match metadata:
        case {"progress": {"percent": int() | float() as percent, "message": message}}:
            return f"{percent:g}%" + (f", {message}" if message else "")
        case _:
            return None


def _metadata(metadata: Json) -> RenderableType | None:
    """Draw what is not drawn as progress."""
    match metadata:
        case {"progress": _, **rest} if _progress(metadata):
            return Text(encode(rest)) if rest else None
        case _:
            return Text(encode(metadata)) if metadata else None


def _block(text: str) -> RenderableType:
    return Text("\n".join(visible(line) for line in text.splitlines()))


def _detail(execution: JobExecution) -> str | None:
    return _skipped(execution) or _error(execution)


def _exceptional(execution: JobExecution) -> str | None:
    """Say in one cell what has columns of its own where there is room."""
    origin = None if execution.origin is Origin.SCHEDULE else execution.origin.value
    attempt = f"attempt {execution.attempt}" if execution.attempt > 1 else None
    return "; ".join(part for part in (origin, attempt, _detail(execution)) if part) or None


def _duration(execution: JobExecution) -> str | None:
    return None if execution.duration_ms is None else milliseconds(execution.duration_ms)


def _skipped(execution: JobExecution) -> str | None:
    if execution.skip_reason is None:
        return None
    if execution.covers_until is None or (execution.covers_count or 1) == 1:
        return execution.skip_reason.value
    return f"{execution.skip_reason.value}, {execution.covers_count} times up to {wall(execution.covers_until)}"


def _error(execution: JobExecution) -> str | None:
    if execution.error is None:
        return execution.error_type
    return f"{execution.error_type}: {execution.error}" if execution.error_type else execution.error
