"""How people name a job, by its id, its key or its name, and an event handler, by its id or its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from ...application.declared_jobs import every_job
from ...domain.errors import EventHandlerNotFound, EventNotFound, ExecutionNotFound, InvalidInput, JobNotFound
from ...domain.job import JobStatus, ScheduledJob
from ...ports.overviews import Outcome
from ...ports.queries import LIMIT_BOUNDS, EventHandlerFilter, JobFilter
from ...ports.scheduler import IScheduler

_MOST: Final = LIMIT_BOUNDS[1]


async def find_job(scheduler: IScheduler, reference: str) -> UUID:
    """
    Find the one job that an id, else a key, else a whole name stands for.

    Raises:
        JobNotFound: nothing has it as key or name; whether an id exists is left to the call that follows.
        InvalidInput: several jobs have that key or name.
    """
    job_id = as_id(reference)
    if job_id is not None:
        return job_id
    found = _current(await _keyed(scheduler, reference)) or _current(await _called(scheduler, reference))
    if not found:
        raise JobNotFound(reference)
    if len(found) > 1:
        ids = ", ".join(str(job.id) for job in found)
        raise InvalidInput.of("job", f"{len(found)} jobs are called {reference!r}; name one by its id: {ids}")
    return found[0].id


async def job_names(scheduler: IScheduler, job_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Find the names of jobs; those that were deleted have none."""
    names = {}
    for job_id in dict.fromkeys(job_ids):
        with suppress(JobNotFound):
            names[job_id] = (await scheduler.get_job(job_id)).definition.name
    return names


async def newest_outcomes(
    scheduler: IScheduler, job_ids: Sequence[UUID], *, limit: int
) -> Mapping[UUID, Sequence[Outcome]]:
    """Find the newest outcomes of jobs; a node of a version that cannot tell them has none."""
    if not job_ids:
        return {}
    with suppress(JobNotFound):
        return {each.job_id: each.outcomes for each in await scheduler.get_job_outcomes(job_ids, limit=limit)}
    return {}


async def _keyed(scheduler: IScheduler, key: str) -> Sequence[ScheduledJob]:
    return (await scheduler.list_jobs(JobFilter(key=(key,), limit=_MOST))).items if key else ()


async def _called(scheduler: IScheduler, name: str) -> Sequence[ScheduledJob]:
    """Go through all that have the name within theirs: nothing finds a whole name."""
    if not name:
        return ()
    within = JobFilter(name_contains=name, limit=_MOST)
    return [job async for job in every_job(scheduler, within) if job.definition.name == name]


def _current(jobs: Iterable[ScheduledJob]) -> list[ScheduledJob]:
    """Prefer the jobs that are not cancelled, because a cancelled one gives its key away."""
    every = list(jobs)
    return [job for job in every if job.status is not JobStatus.CANCELLED] or every


async def find_event_handler(scheduler: IScheduler, reference: str) -> UUID:
    """
    Find the event handler that an id, else a key, stands for.

    Raises:
        EventHandlerNotFound: nothing has it as key; whether an id exists is left to the call that follows.
    """
    handler_id = as_id(reference)
    if handler_id is not None:
        return handler_id
    found = await scheduler.list_event_handlers(EventHandlerFilter(key=(reference,), limit=1))
    if not found.items:
        raise EventHandlerNotFound(reference)
    return found.items[0].id


def event_id(reference: str) -> UUID:
    """
    Read an event's id.

    Raises:
        EventNotFound: it is no id, so there is no such event.
    """
    found = as_id(reference)
    if found is None:
        raise EventNotFound(reference)
    return found


def execution_id(reference: str) -> UUID:
    """
    Read an execution's id.

    Raises:
        ExecutionNotFound: it is no id, so there is no such execution.
    """
    found = as_id(reference)
    if found is None:
        raise ExecutionNotFound(reference)
    return found


def as_id(reference: str) -> UUID | None:
    """Read an id, or None if the text is something else; 32 digits without dashes may be a key."""
    try:
        found = UUID(reference)
    except ValueError:
        return None
    return found if str(found) == reference.lower() else None
