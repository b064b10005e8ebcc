"""The watch: the loop by which the ledger of every job is held against its schedule, again and again."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from ..domain.event import Event
from ..domain.facts import LEDGER_ANOMALY, fact_of_node
from ..domain.json import Json
from ..domain.ledger import Finding, JobLedger, Window
from ..ports.events import Outbox
from ..ports.ledger import Ledger
from ..ports.stores import JobStore
from ..ports.telemetry import Metric, Telemetry
from .auditing import Auditor

INTERVAL_SECONDS: Final = 60.0
LEASE: Final = timedelta(minutes=5)
"""Of the lock that has one node do it for all."""

PAGE: Final = 100
PAUSE_SECONDS: Final = 0.1
"""Between two pages, so that a look at many jobs leaves the store to the other loops."""

SETTLING: Final = timedelta(seconds=5)
FIRST_SPAN: Final = timedelta(minutes=10)
LONGEST_SPAN: Final = timedelta(hours=1)
REMEMBERED: Final = timedelta(hours=24)
MOST_ANOMALIES: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A finding that was made twice, and when the second time was."""

    job_id: UUID
    tenant_id: str
    finding: Finding
    seen_at: datetime


@dataclass(slots=True, kw_only=True)
class LedgerWatch:
    """
    Verifies what jobs of all tenants lately came to, a page at a time, and tells of each anomaly once.

    A look goes through every job that may have fired, and reaches back to the look before the last one, so that each
    nominal time is looked at twice at least. Only what two looks in a row find is an anomaly. It is remembered for
    a day: a fire that was lost stays lost.

    A page that cannot be read is halved until what is damaged, or too long, stands alone; that job is told of and
    passed over, and the pages grow again.
    """

    ledger: Ledger
    jobs: JobStore
    outbox: Outbox
    auditor: Auditor
    telemetry: Telemetry
    page: int = PAGE
    anomalies: list[Anomaly] = field(default_factory=list, init=False)
    _looks: list[datetime] = field(default_factory=list, init=False)
    _since: datetime | None = field(default=None, init=False)
    _after: UUID | None = field(default=None, init=False)
    _size: int = field(init=False)
    _facts: list[Event] = field(default_factory=list, init=False)
    _suspected: Mapping[UUID, Sequence[Finding]] = field(default_factory=dict, init=False)
    _suspects: defaultdict[UUID, list[Finding]] = field(default_factory=lambda: defaultdict(list), init=False)

    def __post_init__(self) -> None:
        self._size = self.page

    async def run_once(self) -> float | None:
        """Look at a page of jobs; answer in how many seconds the next page, or the next look, is due."""
        since = self._since or await self._begun()
        size = self._size
        try:
            page = await self.ledger.recent_ledgers(since=since, limit=size, after=self._after)
        except Exception as error:  # noqa: BLE001 - what is damaged at rest may raise anything, and hides all behind it
            return await self._narrowed(since, size, error)
        self._size = min(size * 2, self.page)
        window = Window(after=since, until=page.now - SETTLING)
        for each in page.ledgers:
            self._look(each, window, page.now)
            # A long ledger takes a while, and heartbeats must not wait for all of a page.
            await asyncio.sleep(0)
        if self._facts:
            await self.outbox.append(self._facts)
            self._facts.clear()
        return self._gone_on(page.next_after)

    def forget(self) -> None:
        """Begin anew, with nothing found: another node watches from now on; only between rounds."""
        self.anomalies, self._looks, self._suspected = [], [], {}
        self._since = self._after = None

    def _gone_on(self, after: UUID | None) -> float:
        self._after = after
        if after is not None:
            return PAUSE_SECONDS
        self._since, self._suspected = None, dict(self._suspects)
        return INTERVAL_SECONDS

    async def _narrowed(self, since: datetime, size: int, error: Exception) -> float:
        """Have a smaller page read next, or pass over the one job that it was; if the store is down, raise."""
        jobs = await self.ledger.recent_jobs(since=since, limit=2, after=self._after)
        self._size = max(1, size // 2)
        if size > 1:
            return PAUSE_SECONDS
        if jobs:
            self.telemetry.error("ledger.unverifiable", job_id=str(jobs[0]), error=_worded(error))
        return self._gone_on(jobs[0] if len(jobs) > 1 else None)

    async def _begun(self) -> datetime:
        """Begin a look, and say from when on."""
        now = await self.jobs.now()
        # A clock that was set back would have the next look begin in the future.
        earlier = [look for look in self._looks if look <= now]
        self._since = max(min(earlier, default=now - FIRST_SPAN) - SETTLING, now - LONGEST_SPAN)
        self._looks = [*(earlier or [now - FIRST_SPAN]), now][-2:]
        self._suspects.clear()
        self.anomalies = [each for each in self.anomalies if now - each.seen_at < REMEMBERED]
        return self._since

    def _look(self, ledger: JobLedger, window: Window, now: datetime) -> None:
        job = ledger.job
        try:
            report = self.auditor.check(ledger, window, now)
        except Exception as error:  # noqa: BLE001 - one job that cannot be verified must not keep the others from it
            self.telemetry.error(
                "ledger.unverifiable", job_id=str(job.id), tenant_id=job.tenant_id, error=_worded(error)
            )
            return
        for finding in report.findings:
            self._suspects[job.id].append(finding)
            known = [each.finding for each in self.anomalies if each.job_id == job.id]
            if _is_among(finding, self._suspected.get(job.id, ())) and not _is_among(finding, known):
                self._report(Anomaly(job_id=job.id, tenant_id=job.tenant_id, finding=finding, seen_at=now))

    def _report(self, anomaly: Anomaly) -> None:
        finding = anomaly.finding
        self.telemetry.add(Metric.LEDGER_ANOMALIES, kind=finding.kind.value)
        self.anomalies = [*self.anomalies, anomaly][-MOST_ANOMALIES:]
        told: dict[str, Json] = {
            "job_id": str(anomaly.job_id),
            "kind": finding.kind.value,
            "nominal": finding.first.isoformat(),
            "nominal_times": finding.count,
            "finding": finding.message,
        }
        self.telemetry.error("ledger.anomaly", tenant_id=anomaly.tenant_id, **told)
        subject = f"job/{anomaly.job_id}"
        self._facts.append(fact_of_node(LEDGER_ANOMALY, told, anomaly.tenant_id, subject=subject, now=anomaly.seen_at))


def _worded(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _is_among(finding: Finding, others: Sequence[Finding]) -> bool:
    """Tell whether it was found before: of the same kind and of some of the same times, since windows move on."""
    return any(
        other.kind is finding.kind and other.first <= finding.last and finding.first <= other.last for other in others
    )
