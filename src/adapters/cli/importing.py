"""Carrying a crontab over into jobs: what is new, what changed, and doing only that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from ...application.declared_jobs import HOLDING, key_batches
from ...domain.definition import document
from ...domain.errors import InvalidInput
from ...domain.job import HandlerType, JobDefinition, JobType, ScheduledJob
from ...domain.json import encoded, storable
from ...ports.conflicts import OnConflict
from ...ports.queries import LIMIT_BOUNDS, JobFilter
from ...ports.scheduler import IScheduler
from .crontab import Crontab, CrontabEntry, job_name, to_metadata, to_payload
from .request_sizes import in_requests

TAG: Final = "crontab"
HANDLER: Final = HandlerType.COMMAND


class Fate(StrEnum):
    """What becomes of a line, or of the job of a line that is gone."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    LEFT_OVER = "left_over"
    CANCELLED = "cancelled"

    @property
    def words(self) -> str:
        """Say it to people."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLine:
    """
    One line of a crontab and what becomes of it; `reason` says why it was refused.

    A job that is left over has no `line`, and its schedule and name as `source`.
    """

    fate: Fate
    source: str
    line: int | None = None
    key: str | None = None
    schedule: str | None = None
    timezone: str | None = None
    job_id: UUID | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An entry as the job it stands for, beside the job that stands for it already."""

    entry: CrontabEntry
    definition: JobDefinition
    existing: ScheduledJob | None = None

    @property
    def fate(self) -> Fate:
        """Say what the entry asks for."""
        if self.existing is None:
            return Fate.NEW
        same = _comparable(self.existing.definition) == _comparable(self.definition)
        return Fate.UNCHANGED if same else Fate.CHANGED

    def line(self, **outcome: object) -> ImportedLine:
        """Tell what became of the entry."""
        told = ImportedLine(
            line=self.entry.line,
            fate=self.fate,
            source=self.entry.source,
            key=self.entry.key,
            schedule=self.definition.schedule,
            timezone=self.definition.timezone,
            job_id=self.existing.id if self.existing else None,
        )
        return replace(told, **outcome)  # type: ignore[arg-type]


def define_entry(entry: CrontabEntry, timezone: str, *, scope: str = "") -> JobDefinition:
    """Make the definition of an entry; `timezone` holds where the crontab names none."""
    return JobDefinition(
        name=job_name(entry),
        type=JobType.CRON,
        schedule=entry.schedule,
        timezone=entry.timezone or timezone,
        handler_type=HANDLER,
        handler_name=HANDLER.value,
        key=entry.key,
        payload=to_payload(entry),
        metadata=to_metadata(entry, scope),
        tags=(TAG,),
    )


async def compare(scheduler: IScheduler, crontab: Crontab, timezone: str) -> list[Planned]:
    """Put each entry beside the job that has its key; nothing is changed."""
    existing = {job.definition.key: job async for job in _jobs(scheduler, [entry.key for entry in crontab.entries])}
    return [replace(each, existing=existing.get(each.entry.key)) for each in as_new(crontab, timezone)]


def as_new(crontab: Crontab, timezone: str) -> list[Planned]:
    """Make the job of each entry, as if there were none yet."""
    return [
        Planned(entry=entry, definition=define_entry(entry, timezone, scope=crontab.scope)) for entry in crontab.entries
    ]


async def carry_over(
    scheduler: IScheduler, planned: Sequence[Planned], progress: Callable[[int], None] = lambda _: None
) -> list[ImportedLine]:
    """
    Write the entries that are new or changed; one that the scheduler refuses does not hinder the rest.

    They go many at a time. `progress` hears how many are done, after each such batch.

    Raises:
        InvalidInput: on field `handler_type`, if the scheduler takes no commands at all.
    """
    lines: list[ImportedLine] = []
    for batch in in_requests(planned, lambda each: document(each.definition)):
        lines += await _written_together(scheduler, batch)
        progress(len(lines))
    return lines


async def _written_together(scheduler: IScheduler, batch: Sequence[Planned]) -> list[ImportedLine]:
    asked = [each for each in batch if each.fate is not Fate.UNCHANGED]
    try:
        definitions = [each.definition for each in asked]
        jobs = await scheduler.schedule_many(definitions, on_conflict=OnConflict.REPLACE) if asked else ()
    except InvalidInput:
        # All of them or none: one by one those that are sound are written, and the others say what is wrong.
        return [await _written(scheduler, each) for each in batch]
    written = {each.entry.line: job.id for each, job in zip(asked, jobs, strict=True)}
    return [each.line(job_id=written[each.entry.line]) if each.entry.line in written else each.line() for each in batch]


async def _written(scheduler: IScheduler, planned: Planned) -> ImportedLine:
    if planned.fate is Fate.UNCHANGED:
        return planned.line()
    try:
        job = await scheduler.schedule(planned.definition, on_conflict=OnConflict.REPLACE)
    except InvalidInput as error:
        if any(each.field == "handler_type" for each in error.errors):
            raise
        return planned.line(fate=Fate.REFUSED, reason=str(error))
    return planned.line(job_id=job.id)


def refused(crontab: Crontab) -> Sequence[ImportedLine]:
    """List the lines that the reader could not carry over."""
    return [
        ImportedLine(line=each.line, fate=Fate.REFUSED, source=each.text, reason=each.reason)
        for each in crontab.refused
    ]


async def _jobs(scheduler: IScheduler, keys: Sequence[str]) -> AsyncIterator[ScheduledJob]:
    for batch in key_batches(keys):
        query = JobFilter(key=batch, handler_name=(HANDLER.value,), status=HOLDING, limit=LIMIT_BOUNDS[1])
        for job in (await scheduler.list_jobs(query)).items:
            yield job


def _comparable(definition: JobDefinition) -> str:
    return encoded(storable(document(definition)))
