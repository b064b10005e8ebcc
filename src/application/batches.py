"""The use cases of many jobs at once: `IScheduler` as far as one call makes or changes several, as one tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from ..domain import lifecycle
from ..domain.errors import Conflict, InvalidJob, TocsinError
from ..domain.job import JobDefinition, ScheduledJob
from ..domain.lifecycle import Moment
from ..domain.plan import Decision, Plan
from ..domain.unreadable import decided_each
from ..ports.batches import BULK_LIMIT, BulkAction, BulkOutcome, ChangedJobs, NewJob, check_batch, new_jobs
from ..ports.conflicts import OnConflict
from ..ports.handlers import Handlers
from ..ports.queries import JobFilter
from ..ports.storage import Storage
from .bulk import BulkCount, step_of
from .changing import Change, Changing
from .known_handlers import KnownHandlers
from .many_new import BREATH, ManyNew
from .plans import NotedPlans

_AT_ONCE: Final = 250
"""Jobs that one transaction changes: long enough to be worth it, short enough for the timer to wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meetings:
    """Decides about jobs whose keys new ones would have, and keeps what was decided."""

    on_conflict: OnConflict
    moments: Callable[[datetime], Moment]
    _noted: dict[UUID, NotedPlans] = field(default_factory=dict)

    def about(self, new: ScheduledJob) -> Decision:
        """Give the decision about whoever has the key of a new job; asked again, it is the later one that counts."""
        self._noted[new.id] = NotedPlans(lambda existing, now: self._decided(existing, new, now))
        return self._noted[new.id]

    @property
    def noted(self) -> Collection[NotedPlans]:
        """The decisions that were asked for."""
        return self._noted.values()

    def _decided(self, existing: ScheduledJob, new: ScheduledJob, now: datetime) -> Plan:
        match self.on_conflict:
            case OnConflict.ERROR:
                raise Conflict(f"another job has the key {new.definition.key!r}", existing.id)
            case OnConflict.KEEP:
                return Plan(job=existing)
            case OnConflict.REPLACE:
                return lifecycle.redefine(existing, new.definition, self.moments(now))


class BatchRequests(Changing):
    """What the scheduler does to many jobs at once; its fields are the scheduler's."""

    __slots__ = ()

    storage: Storage
    handlers: Handlers
    tenant_id: str

    async def schedule_many(
        self,
        definitions: Sequence[JobDefinition | NewJob],
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        allow_unknown_handler: bool = False,
    ) -> Sequence[ScheduledJob]:
        """Store jobs, all or none (`IScheduler.schedule_many`)."""
        wanted = new_jobs(definitions, allow_unknown_handler=allow_unknown_handler)
        moments = self._moments()
        known = KnownHandlers(handlers=self.handlers, storage=self.storage)
        new = ManyNew(
            wanted=wanted, moment=moments(await self.storage.jobs.now()), tenant_id=self.tenant_id, known=known
        )
        meetings = _Meetings(on_conflict=on_conflict, moments=moments)
        added = await self.storage.batches.add(await new.made(), meetings.about)
        await self._tell(added, *meetings.noted)
        return added.jobs

    async def change_jobs(
        self,
        action: BulkAction,
        *,
        job_ids: Sequence[UUID] | None = None,
        query: JobFilter | None = None,
        dry_run: bool = False,
    ) -> BulkOutcome:
        """Do the same to many jobs (`IScheduler.change_jobs`)."""
        step, count = step_of(action), BulkCount(action=action)
        for part in _parts(await self._meant(job_ids, query)):
            came_to = await (self._tried(step, part) if dry_run else self._changed(step, part))
            place = {job_id: at for at, job_id in enumerate(part)}
            count.changed(sorted(came_to.jobs, key=lambda job: place[job.id]))
            count.refused(sorted(came_to.refused, key=lambda each: place[each[0].id]))
            there = {job.id for job in came_to.jobs} | {job.id for job, _ in came_to.refused}
            count.missing(job_id for job_id in part if job_id not in there)
        return count.outcome(dry_run=dry_run)

    async def _meant(self, job_ids: Sequence[UUID] | None, query: JobFilter | None) -> Sequence[UUID]:
        if (job_ids is None) == (query is None):
            raise InvalidJob.of("job_ids", "or filter says which jobs are meant; name one of the two")
        if job_ids is not None:
            check_batch("job_ids", job_ids)
            return list(dict.fromkeys(job_ids))
        wanted = query or JobFilter()
        if wanted.name_contains == "":
            raise InvalidJob.of("filter.name_contains", "is in every name; leave it out if every job is meant")
        found = await self.storage.jobs.ids(self.tenant_id, wanted, at_most=BULK_LIMIT)
        if found.total > BULK_LIMIT:
            raise InvalidJob.of("filter", f"matches {found.total} jobs; at most {BULK_LIMIT} are changed at once")
        return found.items

    async def _changed(self, step: Change, job_ids: Sequence[UUID]) -> ChangedJobs:
        plans = self._noted(step)
        changed = await self.storage.batches.change(self.tenant_id, job_ids, plans)
        await self._tell(changed, plans)
        return changed

    async def _tried(self, step: Change, job_ids: Sequence[UUID]) -> ChangedJobs:
        """Decide as a change would, and write nothing of it."""
        decide, now = self._noted(step), await self.storage.jobs.now()
        jobs = await self.storage.batches.read(self.tenant_id, job_ids)
        stand: list[ScheduledJob] = []
        refused: list[tuple[ScheduledJob, TocsinError]] = []
        for first in range(0, len(jobs), BREATH):
            plans, others = decided_each(jobs[first : first + BREATH], now, decide)
            stand += (plan.job for plan in plans)
            refused += others
            await asyncio.sleep(0)
        return ChangedJobs(jobs=stand, refused=refused)


def _parts(job_ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    return (job_ids[first : first + _AT_ONCE] for first in range(0, len(job_ids), _AT_ONCE))
