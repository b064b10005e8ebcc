"""
The proof: whether every nominal time of a job in a window is accounted for, once and as its history asks.

Pure, and without false alarms, because it leans on what each transaction guarantees and on no clock but the one
that the transaction wrote down. Nominal times only ever rise from record to record, and so do the versions that
made them. So between two neighbouring records lie exactly the times that the versions from that of the earlier
one to that of the later one owed there; each version owes what is later than the change that made it, and not
later than the change that ended it, which first accounted for what was due.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from .execution import ExecutionStatus
from .firing import BEFORE, LOOK_AHEAD, Stretch
from .history import Version, read_history
from .job import ScheduledJob
from .ledger import Entry, Fate, FindingKind, JobLedger, LedgerReport, LedgerTotals, Window
from .occurrences import EARLIEST
from .owed import Owed, Sources
from .scrutiny import faults
from .swift import swift
from .tally import Findings, Made

_LedgerReport: Final = swift(LedgerReport)
_LedgerTotals: Final = swift(LedgerTotals)


def check_ledger(
    ledger: JobLedger, window: Window, *, now: datetime, sources: Sources, purged_before: datetime = EARLIEST
) -> LedgerReport:
    """
    Account for every nominal time of a job in a window.

    `now` is the store's clock when the ledger was read; nothing later is asked for. What was created before
    `purged_before` may have been removed by retention, so that nothing up to then counts as missing.
    """
    audit = _Audit(ledger, window, now=now, sources=sources, purged_before=purged_before)
    for entry in ledger.entries:
        audit.take(entry)
    return audit.closed()


class _Audit:
    """A walk through the records of a job, from one to the next."""

    def __init__(
        self, ledger: JobLedger, window: Window, *, now: datetime, sources: Sources, purged_before: datetime
    ) -> None:
        self._job = ledger.job
        self._window = window
        self._now = now
        self._purged_before = purged_before
        self._made = Made.of(ledger, purged_before)
        self._history = read_history(ledger.job, ledger.versions)
        self._owed = [Owed(version, sources) for version in self._history.versions]
        self._place = {version.number: place for place, version in enumerate(self._history.versions)}
        self._at = 0
        self._latest: Entry | None = None
        self._missed = EARLIEST
        self._fates: Counter[Fate] = Counter()
        self._skipped: Counter[str] = Counter()
        self._findings = Findings()
        for at, text in self._history.breaks:
            self._findings.add(FindingKind.HISTORY, Stretch(first=at, last=at, count=0), text)

    def take(self, entry: Entry) -> None:
        """Go on to the next record."""
        place = max(self._at, self._place.get(entry.job_version, self._at))
        self._cross(entry.scheduled_at - BEFORE, place, is_followed=True)
        if entry.last > self._window.after and entry.scheduled_at <= self._window.until:
            self._judge(entry)
        if self._latest is None or entry.last > self._latest.last:
            self._latest = entry
        self._at = place
        self._made.count(entry)

    def closed(self) -> LedgerReport:
        """Account for what follows the last record, and give the report."""
        if self._owed:
            next_run = self._job.next_run
            end = self._now if next_run is None else min(self._now, next_run - BEFORE)
            self._cross(end, len(self._owed) - 1, is_followed=False)
            if next_run is not None:
                self._wait(next_run)
        self._recall()
        problems = [f"version {owed.version.number}: {owed.problem}" for owed in self._owed if owed.problem]
        return _LedgerReport(
            job_id=self._job.id,
            window=self._window,
            totals=_LedgerTotals(fates=dict(self._fates), skipped=dict(self._skipped)),
            findings=tuple(self._findings.listed),
            findings_count=self._findings.count,
            notes=(*self._history.notes, *problems),
        )

    def _cross(self, until: datetime, place: int, *, is_followed: bool) -> None:
        """Account for the gap behind the latest record, in which the versions up to that at `place` were in force."""
        for step in range(self._at, min(place + 1, len(self._owed))):
            owed = self._owed[step]
            version, is_last = owed.version, step == place
            after, end = self._after(version, is_own=step == self._at), until
            if not is_last and version.ends_at is not None:
                end = min(end, version.ends_at)
            # A later record of the very version proves that it had not ended.
            is_open = not (is_last and is_followed)
            if not (is_open and self._made.is_all_of(version)):
                self._miss(owed, after, end, is_excused=is_open and version.is_lapsed)

    def _after(self, version: Version, *, is_own: bool) -> datetime:
        """Say from when on a version owed something, given that the latest record is its own or one before it."""
        if self._latest is None:
            return version.begins_at
        return self._latest.last if is_own else max(self._latest.last, version.begins_at)

    def _miss(self, owed: Owed, after: datetime, until: datetime, *, is_excused: bool) -> None:
        """Take down what a version owed later than `after` and not later than `until`, where there is no record."""
        after, until = max(after, self._window.after), min(until, self._window.until)
        horizon = min(max(after, self._purged_before), until)
        if purged := owed.between(after, horizon):
            self._fates[Fate.PURGED] += purged.count
        missed = owed.between(max(after, horizon), until)
        if missed is None:
            return
        if is_excused:
            self._fates[Fate.UNKNOWN] += missed.count
            return
        self._fates[Fate.MISSING] += missed.count
        self._missed = missed.last
        self._made.suppose(missed.count)
        text = f"{_times(missed)} of version {owed.version.number} has no record"
        self._findings.add(FindingKind.MISSING, missed, text)

    def _wait(self, next_run: datetime) -> None:
        """Take down what is due and waits for the timer."""
        after = max(next_run - BEFORE, self._window.after)
        due = self._owed[-1].between(after, min(self._now, self._window.until))
        if due is not None:
            self._fates[Fate.DUE] += due.count

    def _recall(self) -> None:
        """Hold the newest time that the job itself says it recorded against the records, if it was not yet missed."""
        at = self._job.last_nominal
        if at is None or not max(self._window.after, self._purged_before) < at <= self._window.until:
            return
        newest = self._missed if self._latest is None else max(self._latest.last, self._missed)
        if at > newest:
            self._fates[Fate.MISSING] += 1
            text = f"{at.isoformat()}, the newest time that the job has recorded, has no record"
            self._findings.add(FindingKind.MISSING, Stretch(first=at, last=at, count=1), text)

    def _judge(self, entry: Entry) -> None:
        """Hold one record against its version, and against those before it."""
        place = self._place.get(entry.job_version)
        owed = None if place is None else self._owed[place]
        found = list(faults(entry, owed))
        if owed is not None and not found and not self._is_recorded(entry) and self._made.exceeds(owed.version):
            found.append(f"is beyond max_executions of version {entry.job_version}")
        own = Stretch(first=entry.scheduled_at, last=entry.last, count=entry.count)
        for text in found:
            self._findings.add(FindingKind.UNEXPLAINED, own, f"the record of {_times(own)} {text}", entry)
        for text in _haste(entry):
            self._findings.add(FindingKind.EARLY, own, f"the record of {_times(own)} {text}, before its time", entry)
        if owed is not None and not found:
            self._enter(entry, owed)

    def _is_recorded(self, entry: Entry) -> bool:
        """Tell whether the first time that a record stands for has one already."""
        return self._latest is not None and entry.scheduled_at <= self._latest.last

    def _enter(self, entry: Entry, owed: Owed) -> None:
        """Take down what became of the nominal times of a record, but for those that have one already."""
        first = entry.scheduled_at - BEFORE
        if self._latest is not None and self._is_recorded(entry):
            doubled = owed.between(first, min(entry.last, self._latest.last))
            if doubled is not None:
                text = f"{_times(doubled)} has two records"
                self._findings.add(FindingKind.DOUBLED, doubled, text, self._latest, entry)
            first = self._latest.last
        if entry.is_made:
            fresh = int(first < entry.scheduled_at)
            self._fates[_fate(entry, owed.version.job)] += fresh
        elif entry.skip_reason is not None:
            covered = owed.between(max(first, self._window.after), min(entry.last, self._window.until))
            self._skipped[entry.skip_reason] += covered.count if covered else 0


def _haste(entry: Entry) -> Iterator[str]:
    """Say in words what was done before a nominal time came; of one that runs, the record may be made just before."""
    may_precede = LOOK_AHEAD if entry.is_made else timedelta()
    if entry.created_at < entry.last - may_precede:
        yield f"was made at {entry.created_at.isoformat()}"
    # Nothing starts before its record is made, unless the clock is set back; what is made ahead waits for its instant.
    elif entry.first_start is not None and entry.created_at <= entry.first_start < entry.scheduled_at:
        yield f"was started at {entry.first_start.isoformat()}"


def _fate(entry: Entry, job: ScheduledJob) -> Fate:
    if entry.status is not ExecutionStatus.SUCCESS:
        return Fate(entry.status.value)
    grace = timedelta(seconds=job.definition.misfire_grace_seconds)
    is_late = entry.first_start is not None and entry.first_start - entry.scheduled_at > grace
    return Fate.RAN_LATE if is_late else Fate.RAN


def _times(stretch: Stretch) -> str:
    if stretch.count == 1:
        return stretch.first.isoformat()
    return f"each of {stretch.count} nominal times from {stretch.first.isoformat()} to {stretch.last.isoformat()}"
