"""What is counted on a walk through a ledger: executions against max_executions, and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from .firing import Stretch
from .history import Version
from .ledger import FINDINGS_LIMIT, Entry, Finding, FindingKind, JobLedger


@dataclass(slots=True, kw_only=True)
class Made:
    """
    How many executions the schedule had made by some record, from two sides.

    `seen` counts records, so there were never fewer. `at_most` takes those that follow off what the job's counter
    says, so there were never more; in a sound ledger it is exact, and `seen` is too if `is_whole`: if everything
    from the job's creation on was counted and retention removed none of it.
    """

    seen: int
    at_most: int
    is_whole: bool
    _supposed: int = 0

    @classmethod
    def of(cls, ledger: JobLedger, purged_before: datetime) -> Self:
        """Begin before the first record."""
        given = sum(entry.is_made for entry in ledger.entries)
        return cls(
            seen=ledger.made_before or 0,
            at_most=ledger.job.counters.scheduled_count - ledger.made_after - given,
            is_whole=ledger.made_before is not None and ledger.job.created_at >= purged_before,
        )

    def count(self, entry: Entry) -> None:
        """Go past a record."""
        self.seen += entry.is_made
        self.at_most += entry.is_made

    def suppose(self, missing: int) -> None:
        """Take it that what is missing was made, so that one lost record is not found again at the end of the job."""
        self._supposed += missing

    def is_all_of(self, version: Version) -> bool:
        """Tell whether a version had made all that it may, and so owed nothing more."""
        limit = version.job.definition.max_executions
        return limit is not None and (self.seen + self._supposed if self.is_whole else self.at_most) >= limit

    def exceeds(self, version: Version) -> bool:
        """Tell whether one more record, skipped or not, is one more than a version may make."""
        limit = version.job.definition.max_executions
        return limit is not None and self.seen >= limit


@dataclass(slots=True)
class Findings:
    """What was found so far: all of it is counted, and the first of it listed."""

    listed: list[Finding] = field(default_factory=list)
    count: int = 0

    def add(self, kind: FindingKind, stretch: Stretch, message: str, *entries: Entry) -> None:
        """Take one down."""
        self.count += 1
        if len(self.listed) < FINDINGS_LIMIT:
            self.listed.append(
                Finding(
                    kind=kind,
                    first=stretch.first,
                    last=stretch.last,
                    count=stretch.count,
                    message=message,
                    execution_ids=tuple(dict.fromkeys(entry.id for entry in entries)),
                )
            )
