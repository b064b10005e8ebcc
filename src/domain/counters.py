"""The numbers of a job that move with its executions, kept in a row of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from .execution import ExecutionStatus, JobExecution, OpenExecution

_FAILURES: Final = frozenset({ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounters:
    """
    What a job's executions add up to.

    `executions_count` counts those that ran to an end (success, failed, timeout); durations are of
    successes. `scheduled_count` counts schedule fires that were not skipped, and is measured against
    max_executions. `slots_taken` counts executions that hold a slot, `waiting` pending ones without,
    `live` all that have not ended.
    """

    executions_count: int = 0
    success_count: int = 0
    failure_count: int = 0
    consecutive_failures: int = 0
    duration_total_ms: int = 0
    scheduled_count: int = 0
    slots_taken: int = 0
    waiting: int = 0
    live: int = 0

    @property
    def avg_duration_ms(self) -> float | None:
        """Mean duration of the successful executions, in ms; None before the first."""
        return self.duration_total_ms / self.success_count if self.success_count else None

    def ended(self, status: ExecutionStatus, duration_ms: int) -> JobCounters:
        """Count one execution that came to an end; its slot is another matter (`released`)."""
        return self.with_ends([(status, duration_ms)])

    def with_ends(self, ends: Iterable[tuple[ExecutionStatus, int]]) -> JobCounters:
        """Count executions that came to an end, in that order, by status and duration, as `ended` does for one."""
        gone = successes = failures = duration_ms = 0
        in_a_row = self.consecutive_failures
        for status, took_ms in ends:
            gone += 1
            if status is ExecutionStatus.SUCCESS:
                successes += 1
                duration_ms += took_ms
                in_a_row = 0
            elif status in _FAILURES:
                failures += 1
                in_a_row += 1
        return replace(
            self,
            executions_count=self.executions_count + successes + failures,
            success_count=self.success_count + successes,
            failure_count=self.failure_count + failures,
            consecutive_failures=in_a_row,
            duration_total_ms=self.duration_total_ms + duration_ms,
            live=self.live - gone,
        )

    def released(self, slots: int) -> JobCounters:
        """Give back slots whose handlers are really gone."""
        return replace(self, slots_taken=self.slots_taken - slots)

    def admissible(self, concurrency: int) -> int:
        """How many waiting executions may be admitted now."""
        return max(0, min(self.waiting, concurrency - self.slots_taken))

    def admitted(self, executions: int) -> JobCounters:
        """Move executions from waiting to holding a slot."""
        return replace(self, waiting=self.waiting - executions, slots_taken=self.slots_taken + executions)

    def withdrawn(self, execution: OpenExecution | JobExecution) -> JobCounters:
        """Take a pending execution out that will not run: out of its slot, or from among the waiting."""
        return replace(
            self,
            live=self.live - 1,
            slots_taken=self.slots_taken - execution.holds_slot,
            waiting=self.waiting - (execution.available_at is None),
        )

    def unplanned(self, execution: JobExecution) -> JobCounters:
        """Take back what a plan counted for a row of the schedule that is not written after all."""
        if execution.status is ExecutionStatus.SKIPPED:
            return self
        return replace(self.withdrawn(execution), scheduled_count=self.scheduled_count - 1)
