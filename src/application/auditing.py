"""Verifying ledgers: a window of one job, walked in stretches so that no ledger is too long to be held."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from ..domain.audit import check_ledger
from ..domain.errors import InvalidInput, InvalidSchedule
from ..domain.job import ScheduledJob
from ..domain.ledger import JobLedger, LedgerReport, Window
from ..domain.occurrences import OccurrenceSource
from ..ports.stores import JobStore
from .planning import Planning
from .retention import KEEP

DEFAULT_SPAN: Final = timedelta(hours=24)
STRETCH: Final = 1000
"""Records that are held at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditor:
    """Holds ledgers against their schedules; `keep` is how long retention leaves every execution."""

    planning: Planning
    keep: timedelta = KEEP

    def check(self, ledger: JobLedger, window: Window, now: datetime) -> LedgerReport:
        """Account for the nominal times of a job in a window (`domain.audit`)."""
        return check_ledger(ledger, window, now=now, sources=self._source, purged_before=now - self.keep)

    async def verify(
        self, jobs: JobStore, tenant_id: str, job_id: UUID, *, since: datetime | None, until: datetime | None
    ) -> LedgerReport:
        """
        Account for a job from just after `since` (default: a day before `until`) to `until` (default: now).

        Raises:
            InvalidInput: an instant has no UTC offset, they are the wrong way round, or all between them is to come.
            JobNotFound: the tenant has no such job, or it was deleted.
        """
        window = _window(await jobs.now(), since, until)
        report: LedgerReport | None = None
        while True:
            found = await jobs.ledger(tenant_id, job_id, window=window, limit=STRETCH)
            stretch = Window(after=window.after, until=found.until)
            part = self.check(found.ledger, stretch, found.now)
            report = part if report is None else report.joined(part)
            if found.until >= window.until:
                return report
            window = Window(after=found.until, until=window.until)
            # A store in memory never yields, and the other loops must not wait for all of a window.
            await asyncio.sleep(0)

    def _source(self, job: ScheduledJob) -> OccurrenceSource:
        try:
            return self.planning.occurrences(job)
        except InvalidSchedule:
            raise
        except Exception as error:
            # What a stored text can do to the code that reads it is for the planner's log; here it is one more schedule
            # that nobody can compute.
            raise InvalidSchedule.of("schedule", f"cannot be computed: {type(error).__name__}") from error


def _window(now: datetime, since: datetime | None, until: datetime | None) -> Window:
    for name, instant in (("since", since), ("until", until)):
        if instant is not None and instant.utcoffset() is None:
            raise InvalidInput.of(name, "must have a UTC offset")
    end = now if until is None else until
    begin = end - DEFAULT_SPAN if since is None else since
    if begin > end:
        raise InvalidInput.of("since", f"must not be later than {end.isoformat()}, where the window ends")
    if begin > now:
        # Nothing has come due yet, and an empty ledger must not pass for one that was checked.
        late = "until" if since is None else "since"
        raise InvalidInput.of(late, f"must not be later than now, which is {now.isoformat(timespec='seconds')}")
    return Window(after=begin, until=end)
