"""Jobs as declarations see them: what is there, and the steps that bring it to what is declared."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, cast
from uuid import UUID

from ..domain.definition import document, from_document
from ..domain.errors import InvalidSchedule
from ..domain.job import JobDefinition, JobStatus, JobType, ScheduledJob
from ..domain.json import Json
from ..domain.ownership import bare, marked, owner_of, scope_tag
from ..domain.reconciliation import Declaration, Fate, Standing, Step, is_same
from ..domain.timing import read_schedule
from ..ports.batches import NewJob
from ..ports.queries import LIMIT_BOUNDS, JobFilter, SortOrder
from ..ports.scheduler import IScheduler

ENABLED: Final = "enabled"
"""What a declaration may state beside the fields of a definition: whether the job is not paused."""

# Keys travel in the address of a request, whose length has a limit.
_KEYS_AT_ONCE: Final = 50
_AT_ONCE: Final = LIMIT_BOUNDS[1]
HOLDING: Final = tuple(status for status in JobStatus if status is not JobStatus.CANCELLED)
"""The statuses of jobs that hold their keys."""

_GOING_ON: Final = frozenset({JobStatus.PENDING, JobStatus.ACTIVE, JobStatus.PAUSED})
_NOT_DECLARED: Final = frozenset({"key", ENABLED})


def _defaults() -> Mapping[str, Json]:
    written = document(JobDefinition(name="", type=JobType.EVENT, handler_name=""))
    required = {"name", "type", "handler_name", "schedule", "key"}
    return MappingProxyType({name: value for name, value in written.items() if name not in required})


DEFAULTS: Final = _defaults()
"""What the fields of a job have, as documents, where nobody states them; those that each must state are not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredJobs:
    """The jobs of one scheduler, read and written for declarations."""

    scheduler: IScheduler
    allow_unknown_handler: bool = False

    async def standing(self, declared: Iterable[Declaration], *, scope: str) -> list[Standing]:
        """Read the jobs that have the keys of these, and those that this scope declared before."""
        of_scope = JobFilter(tags=(scope_tag(scope),), status=HOLDING, limit=_AT_ONCE)
        found = {job.id: job async for job in every_job(self.scheduler, of_scope)}
        known = {(job.definition.key, job.definition.handler_name) for job in found.values()}
        sought = (each.key for each in declared if (each.key, each.handler_name) not in known)
        for batch in key_batches(sought):
            by_key = JobFilter(key=batch, status=HOLDING, limit=_AT_ONCE)
            found |= {job.id: job async for job in every_job(self.scheduler, by_key)}
        return [standing_of(job) for job in found.values()]

    async def every(self, *, scope: str | None = None) -> list[Standing]:
        """Read all jobs, oldest first, or all that a scope declared."""
        query = JobFilter(status=HOLDING, limit=_AT_ONCE, sort_order=SortOrder.ASC)
        if scope is not None:
            query = replace(query, tags=(scope_tag(scope),))
        standing = [standing_of(job) async for job in every_job(self.scheduler, query)]
        return [each for each in standing if scope is None or (each.owner and each.owner.scope == scope)]

    async def do(self, step: Step) -> UUID | None:
        """
        Take one step, if nothing has changed since it was planned; answer the job's id, None for one that is pruned.

        Raises:
            Conflict, VersionConflict, JobNotFound, InvalidTransition: something changed meanwhile; nothing was written.
            InvalidInput: the scheduler refuses the definition.
        """
        if step.standing is None:
            return await self._create(step)
        if step.fate is Fate.CHANGE:
            await self._change(step, step.standing)
        if step.fate is Fate.PRUNE:
            await self.scheduler.unschedule(step.standing.id, expected_version=step.standing.version)
        return None if step.fate is Fate.PRUNE else step.standing.id

    async def create_all(self, steps: Sequence[Step]) -> list[UUID]:
        """
        Take steps (1..1000) that create, all or none, with one request; answer the jobs' ids in their order.

        Raises:
            Conflict, InvalidInput: as for `do`; nothing was written.
        """
        made = await self.scheduler.schedule_many([self._new(step) for step in steps])
        return [job.id for job in made]

    async def _create(self, step: Step) -> UUID:
        new = self._new(step)
        job = await self.scheduler.schedule(
            new.definition, enabled=new.enabled, allow_unknown_handler=new.allow_unknown_handler
        )
        return job.id

    def _new(self, step: Step) -> NewJob:
        fields = {} if step.declaration is None else step.declaration.fields
        return NewJob(
            definition=definition_of(step),
            enabled=fields.get(ENABLED) is not False,
            allow_unknown_handler=self.allow_unknown_handler,
        )

    async def _change(self, step: Step, standing: Standing) -> None:
        version = standing.version
        if changes := _changes(step, standing):
            changed = await self.scheduler.update_job(standing.id, expected_version=version, **cast("Any", changes))
            version = changed.version
        for change in step.changes:
            if change.field == ENABLED:
                # One request more, and conditional too: what came between the two is not overwritten.
                turn = self.scheduler.resume_job if change.after else self.scheduler.pause_job
                await turn(standing.id, expected_version=version)


async def every_job(scheduler: IScheduler, query: JobFilter) -> AsyncIterator[ScheduledJob]:
    """Read all jobs that match, page by page."""
    while True:
        page = await scheduler.list_jobs(query)
        for job in page.items:
            yield job
        if page.next_cursor is None:
            return
        query = replace(query, cursor=page.next_cursor)


def standing_of(job: ScheduledJob) -> Standing:
    """Write a job as declarations see it; one that has ended is neither enabled nor not."""
    fields = document(job.definition)
    shown = {name: value for name, value in bare(fields).items() if name != "key"}
    if job.definition.type is JobType.ONE_TIME:
        shown["schedule"] = _one_form(job.definition.schedule)
    if job.status in _GOING_ON:
        shown[ENABLED] = job.status is not JobStatus.PAUSED
    return Standing(
        id=job.id,
        version=job.version,
        key=job.definition.key,
        handler_name=job.definition.handler_name,
        fields=shown,
        owner=owner_of(fields),
    )


def _one_form(instant: str | None) -> str | None:
    """Write an instant as declarations have it; what cannot be read differs from all of them."""
    try:
        return None if instant is None else str(read_schedule(instant))
    except InvalidSchedule:
        return instant


def definition_of(step: Step) -> JobDefinition:
    """Give the definition of the job that a step makes, or leaves: what was there, under what is declared."""
    before = DEFAULTS if step.standing is None else step.standing.fields
    stated = {} if step.declaration is None or step.standing else step.declaration.fields
    fields = {**before, **stated, **{change.field: change.after for change in step.changes}}
    kept = {name: value for name, value in fields.items() if name not in _NOT_DECLARED}
    return from_document({**marked(kept, step.owner), "key": step.key})


def _changes(step: Step, standing: Standing) -> Mapping[str, object]:
    wanted = definition_of(step)
    before, after = marked(standing.fields, standing.owner), document(wanted)
    return {name: getattr(wanted, name) for name in before if name in after and not is_same(before[name], after[name])}


def key_batches(keys: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Split keys, each once and in order, into as many as one request asks for."""
    left = iter(sorted(set(keys)))
    while batch := tuple(islice(left, _KEYS_AT_ONCE)):
        yield batch
