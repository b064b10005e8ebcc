"""The jobs of crontab lines that are gone: the file no longer has them, but they go on firing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ...application.declared_jobs import every_job
from ...domain.errors import InvalidTransition, JobNotFound
from ...domain.job import JobDefinition, JobStatus, ScheduledJob
from ...domain.json import Json
from ...ports.queries import LIMIT_BOUNDS, JobFilter
from ...ports.scheduler import IScheduler
from .crontab import Crontab, RefusedLine, scope_of
from .importing import HANDLER, TAG, Fate, ImportedLine

_GOING_ON: Final = (JobStatus.ACTIVE, JobStatus.PAUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A job that an earlier import of this scope made; `refused` is the line that may still stand for it."""

    job: ScheduledJob
    refused: RefusedLine | None = None

    def line(self, fate: Fate = Fate.LEFT_OVER, *, reason: str | None = None) -> ImportedLine:
        """Tell what became of the job."""
        definition = self.job.definition
        doubt = f"may be line {self.refused.line}, which was refused; it goes on" if self.refused else None
        return ImportedLine(
            fate=fate,
            source=f"{definition.schedule} {definition.name}",
            key=definition.key,
            schedule=definition.schedule,
            timezone=definition.timezone,
            job_id=self.job.id,
            reason=doubt or reason,
        )


async def left_over(scheduler: IScheduler, crontab: Crontab) -> list[Leftover]:
    """
    Find the active and paused jobs of the crontab's scope whose entries the file no longer has, oldest first.

    A line that can no longer be read gives no key, so a job whose command stands in one is marked with it.
    """
    keys = {entry.key for entry in crontab.entries}
    imported = JobFilter(tags=(TAG,), handler_name=(HANDLER.value,), status=_GOING_ON, limit=LIMIT_BOUNDS[1])
    gone = [job async for job in every_job(scheduler, imported) if _is_of(job.definition, crontab.scope, keys)]
    return [Leftover(job=job, refused=_mentioned(job.definition.payload, crontab.refused)) for job in reversed(gone)]


async def cancel_all(scheduler: IScheduler, leftovers: Iterable[Leftover]) -> list[ImportedLine]:
    """End the jobs for good, with what of them is pending or running; one that a refused line may mean goes on."""
    lines = []
    for each in leftovers:
        if each.refused is not None:
            lines.append(each.line())
            continue
        # One that somebody else ended meanwhile is where it should be.
        with suppress(InvalidTransition, JobNotFound):
            await scheduler.cancel_job(each.job.id)
        lines.append(each.line(Fate.CANCELLED))
    return lines


def _is_of(definition: JobDefinition, scope: str, keys: set[str]) -> bool:
    return scope_of(definition.metadata) == scope and definition.key not in keys


def _mentioned(payload: Json, refused: Sequence[RefusedLine]) -> RefusedLine | None:
    match payload:
        case {"shell": str(command)}:
            return next((line for line in refused if command in line.text.replace(r"\%", "%")), None)
        case _:
            return None
