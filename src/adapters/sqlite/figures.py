"""What rows add up to, counted by the database."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ...ports.stores import UNCLAIMED_AFTER, UNCLAIMED_SAMPLE, ExecutionFigures, FailureFigures, QueueFigures
from .instants import from_micros, span_micros
from .statements import statements
from .transaction import Parameters, Transaction

_FIGURES: Final = statements("figures")
_SAMPLE: Final = 10_000
_HOURS: Final = 24
_MICROS_IN_A_MILLISECOND: Final = 1000


def execution_figures(transaction: Transaction, scope: Parameters) -> ExecutionFigures:
    """Add up the executions of a scope: the parameters `tenant_id`, `job_id` (or null) and `since`."""
    by_status: Counter[str] = Counter()
    by_hour: Counter[int] = Counter()
    totals = transaction.rows(_FIGURES["totals"], **scope)
    for row in totals:
        by_status[row["status"]] += row["total"]
        by_hour[row["hour"]] += row["total"]
    late = transaction.column(_FIGURES["lateness"], sample=_SAMPLE, **scope)
    return ExecutionFigures(
        by_status=dict(by_status),
        durations_ms=transaction.column(_FIGURES["durations"], sample=_SAMPLE, **scope),
        lateness_ms=[micros // _MICROS_IN_A_MILLISECOND for micros in late],
        failures=[
            FailureFigures(
                error_type=row["error_type"],
                count=row["total"],
                last_seen=from_micros(row["last_seen"]),
                last_error=row["last_error"],
            )
            for row in transaction.rows(_FIGURES["failures"], **scope)
        ],
        by_hour=[by_hour[hour] for hour in range(_HOURS)],
        last_started_at=from_micros(
            max((row["last_started_at"] for row in totals if row["hour"] is not None), default=None)
        ),
    )


def queue_figures(transaction: Transaction, tenant_id: str | None) -> QueueFigures:
    """Count what waits now, for one tenant or for all."""
    now = transaction.now_micros
    by_status = transaction.rows(_FIGURES["jobs_by_status"], tenant_id=tenant_id)
    [due] = transaction.rows(_FIGURES["due"], tenant_id=tenant_id, now=now)
    [queue] = transaction.rows(_FIGURES["queue"], tenant_id=tenant_id, now=now)
    unclaimed = transaction.rows(
        _FIGURES["unclaimed"], tenant_id=tenant_id, before=now - span_micros(UNCLAIMED_AFTER), sample=UNCLAIMED_SAMPLE
    )
    return QueueFigures(
        jobs_by_status={row["status"]: row["total"] for row in by_status},
        ready=queue["ready"],
        waiting=queue["waiting"],
        retrying=queue["retrying"],
        running=queue["running"],
        due_jobs=due["total"],
        oldest_due=from_micros(due["oldest"]),
        oldest_ready=from_micros(queue["oldest_ready"]),
        unclaimed={row["capability"]: row["total"] for row in unclaimed},
    )
