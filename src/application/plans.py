"""What the plans of one transaction came to, told once it is committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from ..domain.execution import ExecutionStatus, JobExecution, Origin
from ..domain.job import ScheduledJob
from ..domain.plan import Decision, Plan
from ..ports.telemetry import Metric, Telemetry
from .spans import creation


@dataclass(slots=True)
class NotedPlans:
    """
    Decides as another does, and keeps what was decided.

    A store that has to repeat a transaction asks again, so that of each job the last plan is the one that stands.
    """

    decide: Decision
    _plans: dict[UUID, Plan] = field(default_factory=dict, init=False)

    def __call__(self, job: ScheduledJob, now: datetime) -> Plan:
        """Decide, and keep the plan."""
        plan = self.decide(job, now)
        self._plans[job.id] = plan
        return plan

    def tell(self, telemetry: Telemetry) -> None:
        """Count the fires and the skips by their reasons and, where spans are recorded, record each new execution."""
        rows = list(self._rows())
        fires = sum(row.origin is Origin.SCHEDULE and row.skip_reason is None for _, row in rows)
        if fires:
            telemetry.add(Metric.FIRES, fires)
        for reason, count in _skips(rows).items():
            telemetry.add(Metric.SKIPS, count, reason=reason)
        if telemetry.traces:
            for job, row in rows:
                if row.status is ExecutionStatus.PENDING:
                    led_to = job.created_in if row.origin is Origin.SCHEDULE else None
                    telemetry.record(creation(row, job.definition, led_to=led_to), ended_at=row.created_at)

    def _rows(self) -> Iterator[tuple[ScheduledJob, JobExecution]]:
        return ((plan.job, row) for plan in self._plans.values() for row in plan.executions)


def _skips(rows: list[tuple[ScheduledJob, JobExecution]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for _, row in rows:
        if row.skip_reason is not None:
            counts[row.skip_reason.value] += row.covers_count or 1
    return counts
