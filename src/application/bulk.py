"""One action on many jobs: what it is to each, and what it comes to for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final
from uuid import UUID

from ..domain import lifecycle, runs
from ..domain.errors import InvalidTransition, JobNotFound, TocsinError
from ..domain.job import JobStatus, ScheduledJob
from ..domain.lifecycle import Moment
from ..domain.plan import Plan
from ..domain.runs import ManualRun
from ..ports.batches import BULK_SHOWN, BulkAction, BulkOutcome, ChangedJob, RefusedJob

_STEPS: Final[Mapping[BulkAction, Callable[[ScheduledJob, Moment], Plan]]] = MappingProxyType(
    {
        BulkAction.PAUSE: lifecycle.pause,
        BulkAction.RESUME: lifecycle.resume,
        BulkAction.CANCEL: lifecycle.cancel,
        BulkAction.TRIGGER: lambda job, moment: runs.trigger(job, moment, ManualRun()),
    }
)
_WISHED: Final = MappingProxyType(
    {
        BulkAction.PAUSE: JobStatus.PAUSED,
        BulkAction.RESUME: JobStatus.ACTIVE,
        BulkAction.CANCEL: JobStatus.CANCELLED,
    }
)


def step_of(action: BulkAction) -> Callable[[ScheduledJob, Moment], Plan]:
    """Give the decision that an action is about one job."""
    return _STEPS[action]


@dataclass(slots=True, kw_only=True)
class BulkCount:
    """What an action has come to so far."""

    action: BulkAction
    _changed: int = 0
    _unchanged: int = 0
    _refused: int = 0
    _shown: list[ChangedJob] = field(default_factory=list)
    _told: list[RefusedJob] = field(default_factory=list)

    def changed(self, jobs: Iterable[ScheduledJob]) -> None:
        """Count jobs that were changed, as they stand now."""
        for job in jobs:
            self._changed += 1
            if len(self._shown) < BULK_SHOWN:
                self._shown.append(ChangedJob(id=job.id, name=job.definition.name, status=job.status))

    def refused(self, jobs: Iterable[tuple[ScheduledJob, TocsinError]]) -> None:
        """Count jobs that were not: as they stood so before, or for another reason."""
        for job, error in jobs:
            if isinstance(error, InvalidTransition) and error.current == _WISHED.get(self.action):
                self._unchanged += 1
            else:
                self._refuse(job.id, job.definition.name, error)

    def missing(self, job_ids: Iterable[UUID]) -> None:
        """Count jobs that are not there."""
        for job_id in job_ids:
            self._refuse(job_id, None, JobNotFound(job_id))

    def _refuse(self, job_id: UUID, name: str | None, error: TocsinError) -> None:
        self._refused += 1
        if len(self._told) < BULK_SHOWN:
            self._told.append(RefusedJob(job_id=job_id, name=name, code=error.code, message=error.message))

    def outcome(self, *, dry_run: bool) -> BulkOutcome:
        """Give what it came to."""
        return BulkOutcome(
            action=self.action,
            dry_run=dry_run,
            matched=self._changed + self._unchanged + self._refused,
            changed=self._changed,
            unchanged=self._unchanged,
            refused=self._told,
            jobs=self._shown,
        )
