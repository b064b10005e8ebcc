"""The account at the end of a case: the ledger against its schedules, and what handlers did against the ledger."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from tests.faults.cluster import Cluster, whole_lines
from tests.faults.marks import Try, doubled, overlapping, started_twice, tries_in
from tests.makers import occurrences_of
from tocsin.domain.audit import check_ledger
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.domain.ledger import JobLedger, LedgerReport, LedgerTotals, Window
from tocsin.ports.storage import Storage

PAGE: Final = 20
SHOWN: Final = 20
BEFORE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What a case came to: nothing wrong, if `findings` is empty.

    `totals` counts nominal times by their fate; `starts` attempts that handlers began, `repeated` executions that
    took more than one, `interrupted` attempts that were told to stop.
    """

    findings: Sequence[str]
    totals: LedgerTotals
    jobs: int
    starts: int
    repeated: int
    interrupted: int

    @property
    def lines(self) -> list[str]:
        """What to show of it: what it came to, and the first findings."""
        return [str(self), *self.findings[:SHOWN]]

    def __str__(self) -> str:
        skipped = sum(self.totals.skipped.values())
        return (
            f"{self.jobs} jobs, {self.totals.nominal_times} nominal times ({skipped} skipped), {self.starts} starts,"
            f" {self.repeated} executions with more than one, {self.interrupted} told to stop;"
            f" {len(self.findings)} findings"
        )


async def verdict_on(storage: Storage, cluster: Cluster) -> Verdict:
    """Hold everything against everything, once the cluster is quiet."""
    tries = tries_in(cluster.folder, cluster.lives)
    statuses: dict[str, ExecutionStatus] = {}
    totals = LedgerTotals()
    findings: list[str] = []
    jobs = 0
    now = await storage.jobs.now()
    window = Window(after=now - BEFORE, until=now)
    async for ledger in ledgers_of(storage, window):
        report = _report(ledger, window, now)
        findings.extend(f"{finding.kind}: {finding.message} ({report.job_id})" for finding in report.findings)
        totals, jobs = totals + report.totals, jobs + 1
        statuses.update((str(entry.id), entry.status) for entry in ledger.entries)
    findings += started_twice(tries) + doubled(tries) + overlapping(tries, cluster.lives)
    findings += [line async for line in _unfaithful(storage, statuses, tries)]
    findings += _surprises(cluster)
    starts = Counter(each.execution for each in tries)
    return Verdict(
        findings=findings,
        totals=totals,
        jobs=jobs,
        starts=len(tries),
        repeated=sum(count > 1 for count in starts.values()),
        interrupted=sum(each.word == "told" for each in tries),
    )


async def ledgers_of(storage: Storage, window: Window) -> AsyncIterator[JobLedger]:
    """Read the ledger of every job, page by page."""
    after: UUID | None = None
    while True:
        page = await storage.ledger.recent_ledgers(since=window.after, limit=PAGE, after=after)
        for ledger in page.ledgers:
            yield ledger
        after = page.next_after
        if after is None:
            return


def assert_sound(verdict: Verdict, jobs: int) -> None:
    """Fail with the first findings, if there are any, or if the ledger has lost whole jobs."""
    print(verdict)  # noqa: T201 - shown with -s, and by a test that fails
    assert not verdict.findings, "\n".join(verdict.lines)
    assert verdict.jobs == jobs


def _report(ledger: JobLedger, window: Window, now: datetime) -> LedgerReport:
    return check_ledger(ledger, window, now=now, sources=occurrences_of)


async def _unfaithful(
    storage: Storage, statuses: Mapping[str, ExecutionStatus], tries: Sequence[Try]
) -> AsyncIterator[str]:
    """Name the executions whose record is not what their handlers did."""
    by_execution: dict[str, list[Try]] = defaultdict(list)
    for each in tries:
        by_execution[each.execution].append(each)
    for execution, status in statuses.items():
        attempts = by_execution.pop(execution, [])
        if status is ExecutionStatus.SKIPPED:
            if attempts:
                yield f"{execution} was skipped, and yet it ran: {attempts}"
            continue
        if status is not ExecutionStatus.SUCCESS:
            yield f"{execution} ended as {status}"
            continue
        row = await storage.executions.get(DEFAULT_TENANT, UUID(execution)) if len(attempts) != 1 else None
        last = row.attempt if row is not None else attempts[0].attempt
        if not any(each.attempt == last and each.word == "end" for each in attempts):
            yield f"{execution} succeeded at attempt {last}, and that never ended: {attempts}"
        if any(each.attempt > last for each in attempts):
            yield f"{execution} had attempts beyond its last one, {last}: {attempts}"
    for execution, attempts in by_execution.items():
        yield f"{execution} ran and is in no ledger: {attempts}"


AWAY: Final = ("StoreUnavailable", "DispatcherUnavailable")
"""What a loop may fail of: a server that does not answer."""


def _surprises(cluster: Cluster) -> Iterator[str]:
    """Name what nodes complained of, but for servers that were away, and whatever is no line of theirs."""
    complaints = Counter(complaint for log in cluster.logs for complaint in _complaints(log))
    return (f"nodes said {count} times: {complaint}" for complaint, count in complaints.items())


def _complaints(log: Path) -> Iterator[str]:
    for line in whole_lines(log):
        if not line.startswith("{"):
            yield line
            continue
        said = json.loads(line)
        error = str(said.get("error"))
        if said["level"] == "error" and not (said["event"] == "loop.failed" and error.startswith(AWAY)):
            yield f"{said['event']}: {error}"
