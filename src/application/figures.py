"""What a node counts and measures, a batch at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from ..domain.attempt import Attempt, Finish
from ..domain.execution import ExecutionStatus, Origin
from ..domain.job import HandlerType
from ..ports.stores import ExecutionStore, JobStore
from ..ports.telemetry import Metric, Telemetry
from .spans import handler_label
from .statistics import queue_state

T = TypeVar("T")

INTERVAL_SECONDS: Final = 15.0
LEASE: Final = timedelta(minutes=1)
"""Of the lock that has one node read the backlog for all."""

NOT_A_NUMBER: Final = float("nan")
_BACKLOG: Final = (Metric.DUE_BACKLOG_AGE, Metric.DUE_JOBS, Metric.READY)


def measure_claims(telemetry: Telemetry, attempts: Iterable[Attempt]) -> None:
    """Enter how long claimed executions have waited for their claim since they could be claimed."""
    for labels, group in _by_handler(attempts, _itself):
        if seconds := [
            _seconds(each.available_at, each.claimed_at or each.started_at) for each in group if each.available_at
        ]:
            telemetry.observe(Metric.DISPATCH_TIME, *seconds, **labels)


def measure_starts(telemetry: Telemetry, attempts: Iterable[Attempt]) -> None:
    """Enter how long executions have waited for their first start, and how late that was."""
    firsts = (attempt for attempt in attempts if not attempt.had_begun)
    for labels, group in _by_handler(firsts, _itself):
        waited = {
            Metric.QUEUE_TIME: [
                # What fired ahead of its time was not waited for before.
                _seconds(max(each.created_at, each.scheduled_at), each.started_at)
                for each in group
                if each.created_at
            ],
            Metric.FIRE_LATENESS: [
                _seconds(each.scheduled_at, each.started_at) for each in group if each.origin == Origin.SCHEDULE
            ],
        }
        for metric, seconds in waited.items():
            if seconds:
                telemetry.observe(metric, *seconds, **labels)


def measure_ends(telemetry: Telemetry, ends: Iterable[tuple[Finish, Attempt]]) -> None:
    """Enter how long attempts took, by how they ended, and count those that another follows for their failure."""
    for labels, group in _by_handler(ends, _whose):
        run_times: defaultdict[str, list[float]] = defaultdict(list)
        run_times[ExecutionStatus.SUCCESS.value] = [
            finish.duration_ms / 1000 for finish, _ in group if finish.status is ExecutionStatus.SUCCESS
        ]
        others = [end for end in group if end[0].status is not ExecutionStatus.SUCCESS]
        for finish, _ in others:
            outcome = finish.status.value if finish.past_attempt is None else finish.past_attempt.outcome
            run_times[outcome].append(finish.duration_ms / 1000)
        for outcome, seconds in run_times.items():
            if seconds:
                telemetry.observe(Metric.RUN_TIME, *seconds, **labels, outcome=outcome)
        if retries := sum(
            not finish.status.terminal and finish.failures > attempt.failures for finish, attempt in others
        ):
            telemetry.add(Metric.RETRIES, retries, **labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogGauge:
    """The agent that says how much waits on all nodes together."""

    jobs: JobStore
    executions: ExecutionStore
    telemetry: Telemetry

    async def run_once(self) -> float | None:
        """Read the queue of all tenants once."""
        queue = queue_state(await self.executions.queue(None), await self.jobs.now())
        self.telemetry.gauge(Metric.DUE_BACKLOG_AGE, queue.oldest_due_seconds)
        self.telemetry.gauge(Metric.DUE_JOBS, queue.due_jobs)
        self.telemetry.gauge(Metric.READY, queue.ready)
        return None

    def forget(self) -> None:
        """Say nothing more: another node reads it from now on."""
        for metric in _BACKLOG:
            self.telemetry.gauge(metric, NOT_A_NUMBER)


def _by_handler(items: Iterable[T], attempt_of: Callable[[T], Attempt]) -> Iterator[tuple[dict[str, str], list[T]]]:
    """Gather what has the same labels, so that a batch costs little more than one of it."""
    groups: defaultdict[tuple[HandlerType, str], list[T]] = defaultdict(list)
    group_of: dict[int, list[T]] = {}
    for item in items:
        definition = attempt_of(item).definition
        group = group_of.get(id(definition))
        if group is None:
            kind = definition.handler_type
            group = group_of[id(definition)] = groups[kind, handler_label(kind, definition.handler_name)]
        group.append(item)
    return (({"handler_type": kind.value, "handler": label}, group) for (kind, label), group in groups.items())


def _itself(attempt: Attempt) -> Attempt:
    return attempt


def _whose(end: tuple[Finish, Attempt]) -> Attempt:
    return end[1]


def _seconds(since: datetime, until: datetime) -> float:
    # A clock that was set back would have things start before they were due.
    return max(0.0, (until - since).total_seconds())
