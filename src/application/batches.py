"""The use cases of many jobs at once: `IScheduler` as far as one call makes or changes several, as one tenant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ..domain import lifecycle
from ..domain.errors import Conflict, InvalidJob
from ..domain.job import JobDefinition, ScheduledJob
from ..domain.lifecycle import Moment
from ..domain.plan import Decision, Plan
from ..domain.unreadable import decided_each
from ..ports.batches import BATCH_BOUNDS, BULK_LIMIT, BulkAction, BulkOutcome, ChangedJobs, NewJob
from ..ports.dispatcher import Dispatch, Dispatcher
from ..ports.handlers import Handlers
from ..ports.queries import JobFilter
from ..ports.scheduler import OnConflict
from ..ports.storage import Storage
from ..ports.telemetry import Telemetry
from .bulk import BulkCount, step_of
from .handing_on import hand_on
from .known_handlers import KnownHandlers
from .many_new import ManyNew
from .planning import Planning
from .plans import NotedPlans
from .running import depth_here

if TYPE_CHECKING:
    from .scheduler import Wakers

_AT_ONCE: Final = 250
"""Jobs that one transaction changes: long enough to be worth it, short enough for the timer to wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meetings:
    """Decides about jobs whose keys new ones would have, and keeps what was decided."""

    on_conflict: OnConflict
    moment: Moment
    _noted: dict[UUID, NotedPlans] = field(default_factory=dict)

    def about(self, new: ScheduledJob) -> Decision:
        """Give the decision about whoever has the key of a new job; asked again, it is the later one that counts."""
        self._noted[new.id] = NotedPlans(lambda existing, now: self._decided(existing, new, now))
        return self._noted[new.id]

    def _decided(self, existing: ScheduledJob, new: ScheduledJob, now: datetime) -> Plan:
        match self.on_conflict:
            case OnConflict.ERROR:
                raise Conflict(f"another job has the key {new.definition.key!r}", existing.id)
            case OnConflict.KEEP:
                return Plan(job=existing)
            case OnConflict.REPLACE:
                return lifecycle.redefine(existing, new.definition, replace(self.moment, now=now))

    def tell(self, telemetry: Telemetry) -> None:
        """Count the fires that were accounted for on the way."""
        for noted in self._noted.values():
            noted.tell(telemetry)


class BatchRequests:
    """What the scheduler does to many jobs at once; its fields are the scheduler's."""

    __slots__ = ()

    storage: Storage
    planning: Planning
    dispatcher: Dispatcher
    handlers: Handlers
    telemetry: Telemetry
    wakers: Wakers
    tenant_id: str
    actor: str | None

    async def schedule_many(
        self,
        definitions: Sequence[JobDefinition | NewJob],
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        allow_unknown_handler: bool = False,
    ) -> Sequence[ScheduledJob]:
        """Store jobs, all or none (`IScheduler.schedule_many`)."""
        _check("jobs", definitions)
        wanted = [
            each if isinstance(each, NewJob) else NewJob(definition=each, allow_unknown_handler=allow_unknown_handler)
            for each in definitions
        ]
        moment = self._moment(await self.storage.jobs.now())
        known = KnownHandlers(handlers=self.handlers, storage=self.storage)
        jobs = await ManyNew(wanted=wanted, moment=moment, tenant_id=self.tenant_id, known=known).made()
        meetings = _Meetings(on_conflict=on_conflict, moment=moment)
        added = await self.storage.batches.add(jobs, meetings.about)
        meetings.tell(self.telemetry)
        await self._done(added.dispatches, added.stopped)
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
        meant, decide = await self._meant(job_ids, query), await self._decision(action)
        count = BulkCount(action=action)
        for part in _parts(meant):
            came_to = await (self._tried(decide, part) if dry_run else self._changed(decide, part))
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
            _check("job_ids", job_ids)
            return list(dict.fromkeys(job_ids))
        found = await self.storage.jobs.ids(self.tenant_id, query or JobFilter(), at_most=BULK_LIMIT)
        if found.total > BULK_LIMIT:
            raise InvalidJob.of("filter", f"matches {found.total} jobs; at most {BULK_LIMIT} are changed at once")
        return found.items

    async def _changed(self, decide: Decision, job_ids: Sequence[UUID]) -> ChangedJobs:
        plans = NotedPlans(decide)
        changed = await self.storage.batches.change(self.tenant_id, job_ids, plans)
        plans.tell(self.telemetry)
        await self._done(changed.dispatches, changed.stopped)
        return changed

    async def _tried(self, decide: Decision, job_ids: Sequence[UUID]) -> ChangedJobs:
        """Decide as a change would, and write nothing of it."""
        now = await self.storage.jobs.now()
        jobs = await self.storage.batches.read(self.tenant_id, job_ids)
        plans, refused = decided_each(jobs, now, decide)
        return ChangedJobs(jobs=[plan.job for plan in plans], refused=refused)

    async def _decision(self, action: BulkAction) -> Decision:
        # The store may decide in a thread of its own, which knows of no span and of no handler.
        step, here = step_of(action), self._moment(await self.storage.jobs.now())
        return lambda job, now: step(job, replace(here, now=now))

    def _moment(self, now: datetime) -> Moment:
        return self.planning.moment(now, self.actor, trace=self.telemetry.current(), depth=depth_here())

    async def _done(self, dispatches: Sequence[Dispatch], stopped: Sequence[UUID]) -> None:
        await hand_on(dispatches, to=self.dispatcher, telemetry=self.telemetry)
        if stopped:
            self.wakers.heartbeat()
        self.wakers.timer()


def _check(field: str, given: Sequence[object]) -> None:
    fewest, most = BATCH_BOUNDS
    if not fewest <= len(given) <= most:
        raise InvalidJob.of(field, f"must be {fewest} to {most}")


def _parts(job_ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    return (job_ids[first : first + _AT_ONCE] for first in range(0, len(job_ids), _AT_ONCE))
