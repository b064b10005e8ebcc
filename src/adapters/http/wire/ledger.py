"""A job's history over the wire: who changed it, and whether its ledger is in order."""

from __future__ import annotations

from dataclasses import fields
from typing import Any
from uuid import UUID

from ....domain.ledger import Fate, Finding, FindingKind, LedgerReport, LedgerTotals, Window
from ....domain.plan import JobChange
from .fields import ShownInstant
from .model import Output


class JobChangeOut(Output):
    """
    One version of a job: who changed what, when and why.

    `before`, null for the first, and `after` are `{"definition", "status", "deleted"}`, the definition in whole.
    """

    job_id: UUID
    tenant_id: str
    version: int
    changed_at: ShownInstant
    changed_by: str | None
    reason: str
    before: dict[str, Any] | None
    after: dict[str, Any]

    @classmethod
    def of(cls, change: JobChange) -> JobChangeOut:
        """Show a version."""
        return cls.model_validate(change)

    def value(self) -> JobChange:
        """Read a version as it was shown."""
        return JobChange(**{field.name: getattr(self, field.name) for field in fields(JobChange)})


class LedgerTotalsOut(Output):
    """
    How many nominal times met which fate; `skipped` counts by reason.

    `due` has come and waits to be fired, `purged` may have been removed by retention, `unknown` lies where the
    schedule could not be computed, `missing` has no record and no excuse.
    """

    nominal_times: int
    ran: int
    ran_late: int
    failed: int
    timeout: int
    cancelled: int
    skipped: dict[str, int]
    pending: int
    running: int
    due: int
    purged: int
    unknown: int
    missing: int


class FindingOut(Output):
    """One thing that is wrong: `count` nominal times from `first` to `last`, by these executions, in words."""

    kind: FindingKind
    first: ShownInstant
    last: ShownInstant
    count: int
    message: str
    execution_ids: tuple[UUID, ...]

    def value(self) -> Finding:
        """Read a finding as it was shown."""
        return Finding(**{field.name: getattr(self, field.name) for field in fields(Finding)})


class LedgerOut(Output):
    """
    What verifying a job's ledger came to, for nominal times later than `since` and not later than `until`.

    `findings` lists at most 100 of `findings_count`; `notes` say in words what could not be judged.
    """

    job_id: UUID
    since: ShownInstant
    until: ShownInstant
    is_clean: bool
    totals: LedgerTotalsOut
    findings: tuple[FindingOut, ...]
    findings_count: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, report: LedgerReport) -> LedgerOut:
        """Show a report."""
        fates = {fate.value: report.totals.of(fate) for fate in Fate}
        totals = LedgerTotalsOut(
            nominal_times=report.totals.nominal_times, skipped=dict(report.totals.skipped), **fates
        )
        return cls(
            job_id=report.job_id,
            since=report.window.after,
            until=report.window.until,
            is_clean=report.is_clean,
            totals=totals,
            findings=tuple(FindingOut.model_validate(finding) for finding in report.findings),
            findings_count=report.findings_count,
            notes=report.notes,
        )

    def value(self) -> LedgerReport:
        """Read a report as it was shown."""
        fates = {fate: count for fate in Fate if (count := getattr(self.totals, fate.value))}
        return LedgerReport(
            job_id=self.job_id,
            window=Window(after=self.since, until=self.until),
            totals=LedgerTotals(fates=fates, skipped=dict(self.totals.skipped)),
            findings=tuple(finding.value() for finding in self.findings),
            findings_count=self.findings_count,
            notes=self.notes,
        )
