"""The ledger of one job as it is verified: what is read, and what is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from uuid import UUID

from .execution import ExecutionStatus, JobExecution, Origin
from .job import ScheduledJob
from .plan import JobChange

FINDINGS_LIMIT: Final = 100
"""Findings that one report lists; it counts them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time: later than `after`, and not later than `until`."""

    after: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """
    What an execution of origin `schedule` says about its nominal times.

    The fields are those of `JobExecution`; `skip_reason` may be one that only a newer version knows.
    """

    id: UUID
    job_version: int
    status: ExecutionStatus
    scheduled_at: datetime
    created_at: datetime
    first_start: datetime | None = None
    skip_reason: str | None = None
    covers_until: datetime | None = None
    covers_count: int | None = None

    @classmethod
    def of(cls, row: JobExecution) -> Entry:
        """Read an execution as an entry; it must be one of the schedule's."""
        if row.origin is not Origin.SCHEDULE:
            raise ValueError(f"{row.id} is of origin {row.origin}, which stands for no nominal time")
        return cls(**{each.name: getattr(row, each.name) for each in fields(cls)})

    @property
    def last(self) -> datetime:
        """The last nominal time that it stands for."""
        return self.covers_until or self.scheduled_at

    @property
    def count(self) -> int:
        """How many nominal times it says that it stands for."""
        return 1 if self.covers_count is None else self.covers_count

    @property
    def is_made(self) -> bool:
        """Whether it counts towards max_executions: whatever was not skipped does."""
        return self.status is not ExecutionStatus.SKIPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLedger:
    """
    A job and what is recorded of it around a window, all of one moment.

    `versions` are its recorded versions, oldest first and without a gap: from that of the first entry (without an
    entry, from the one in force when the window began) up to the job's own; the payload and metadata of their
    definitions may be left out, and the last may have recorded the job `AS_IT_STANDS`. `entries`, by scheduled_at, are
    the newest one at or before the beginning of the window, all in it, and at least the first one after it, if there
    are any.

    `made_before` counts the entries that were not skipped and lie before the first given, None if nobody counted;
    `made_after` those after the last. They matter only to a job with max_executions.
    """

    job: ScheduledJob
    versions: Sequence[JobChange]
    entries: Sequence[Entry]
    made_before: int | None = None
    made_after: int = 0

    @classmethod
    def whole(cls, job: ScheduledJob, versions: Sequence[JobChange], executions: Sequence[JobExecution]) -> JobLedger:
        """Gather all that there is of a job, in any order; runs by hand and the like are left out."""
        entries = [Entry.of(row) for row in executions if row.origin is Origin.SCHEDULE]
        ordered = sorted(entries, key=lambda entry: (entry.scheduled_at, entry.id))
        return cls(job=job, versions=versions, entries=ordered, made_before=0)


class Fate(StrEnum):
    """
    What became of one nominal time; a skipped one is counted by its reason.

    `ran` and `ran_late` succeeded, the latter after a first start beyond the job's misfire grace. `pending` and
    `running` have their record and go on; `due` has come and waits for the timer. `purged` may have been removed by
    retention, and `unknown` lies where the schedule could not be computed, as the job's history says. `missing` has
    no record and no excuse.
    """

    RAN = "ran"
    RAN_LATE = "ran_late"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    PENDING = "pending"
    RUNNING = "running"
    DUE = "due"
    PURGED = "purged"
    UNKNOWN = "unknown"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTotals:
    """How many nominal times of a window met which fate, and how many were skipped for which reason."""

    fates: Mapping[Fate, int] = field(default_factory=lambda: MappingProxyType({}))
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def nominal_times(self) -> int:
        """How many nominal times there are."""
        return sum(self.fates.values()) + sum(self.skipped.values())

    @property
    def counted(self) -> Counter[str]:
        """All of them by name."""
        return Counter(self.fates) + Counter(self.skipped)

    def of(self, fate: Fate) -> int:
        """How many met this fate."""
        return self.fates.get(fate, 0)

    def __add__(self, other: LedgerTotals) -> LedgerTotals:
        """Add up two windows."""
        return LedgerTotals(
            fates=dict(Counter(self.fates) + Counter(other.fates)),
            skipped=dict(Counter(self.skipped) + Counter(other.skipped)),
        )


class FindingKind(StrEnum):
    """
    What is wrong with a ledger.

    `missing` nominal times have no record; `doubled` ones have two; an `early` record was made, or its handler
    started, before its time, `firing.LOOK_AHEAD` allowed for;
    an `unexplained` one is not what its version of the job asks for; `history` is a record of versions that has a
    gap or does not lead to the job as it stands.
    """

    MISSING = "missing"
    DOUBLED = "doubled"
    EARLY = "early"
    UNEXPLAINED = "unexplained"
    HISTORY = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: `count` nominal times from `first` to `last`, by these executions, in words."""

    kind: FindingKind
    first: datetime
    last: datetime
    count: int
    message: str
    execution_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReport:
    """
    What verifying one job's ledger over a window came to.

    `findings` lists up to `FINDINGS_LIMIT` of `findings_count`; `notes` say in words what could not be judged.
    """

    job_id: UUID
    window: Window
    totals: LedgerTotals
    findings: tuple[Finding, ...] = ()
    findings_count: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """True when every nominal time is accounted for and every record explained."""
        return not self.findings_count

    def joined(self, later: LedgerReport) -> LedgerReport:
        """Take in the report on the window that follows."""
        # What spans both windows, such as a row of skips or a gap in the history, is found in either.
        fresh = [finding for finding in later.findings if finding not in self.findings]
        repeated = len(later.findings) - len(fresh)
        return replace(
            self,
            window=replace(self.window, until=later.window.until),
            totals=self.totals + later.totals,
            findings=(*self.findings, *fresh)[:FINDINGS_LIMIT],
            findings_count=self.findings_count + later.findings_count - repeated,
            notes=tuple(dict.fromkeys((*self.notes, *later.notes))),
        )


def cut(entries: Sequence[Entry], window: Window, limit: int) -> tuple[Sequence[Entry], datetime]:
    """
    Keep at most `limit` entries of a window, with the one before it and, if the window is whole, the first behind it.

    Answers them, and until when they are complete. Of what is read, in order, only `limit` + 1 are needed from the
    beginning of the window on.
    """
    before = [entry for entry in entries if entry.scheduled_at <= window.after][-1:]
    inside = [entry for entry in entries if window.after < entry.scheduled_at <= window.until]
    if len(inside) > limit:
        return [*before, *inside[:limit]], inside[limit - 1].scheduled_at
    behind = [entry for entry in entries if entry.scheduled_at > window.until][:1]
    return [*before, *inside, *behind], window.until
