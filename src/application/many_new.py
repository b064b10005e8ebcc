"""Many new jobs made in one go: what is wrong with any of them is told at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..domain import lifecycle
from ..domain.errors import HandlerNotFound, InvalidInput, InvalidJob, InvalidSchedule
from ..domain.job import ScheduledJob
from ..domain.lifecycle import Moment
from ..ports.batches import NewJob, faults_of_job
from .known_handlers import KnownHandlers

BREATH: Final = 10
"""Jobs after which whoever else is due on this event loop has a turn: to plan one takes up to some milliseconds."""


@dataclass(slots=True, kw_only=True)
class ManyNew:
    """Makes the jobs of one batch."""

    wanted: Sequence[NewJob]
    moment: Moment
    tenant_id: str
    known: KnownHandlers
    _refused: list[tuple[int, InvalidInput]] = field(default_factory=list)

    async def made(self) -> list[ScheduledJob]:
        """
        Make each job.

        Raises:
            InvalidJob, InvalidSchedule: names each field at fault, as `jobs[3].schedule`.
        """
        jobs: dict[int, ScheduledJob] = {}
        for place, each in enumerate(self.wanted):
            try:
                jobs[place] = self._job(each)
            except InvalidInput as error:
                self._refused.append((place, error))
            if place % BREATH == 0:
                await asyncio.sleep(0)
        self._refuse_keys_given_twice(jobs)
        await self._refuse_what_nobody_runs(jobs)
        if self._refused:
            raise _told_at_once(self._refused)
        return list(jobs.values())

    def _job(self, each: NewJob) -> ScheduledJob:
        return lifecycle.create(each.definition, self.moment, tenant_id=self.tenant_id, paused=not each.enabled)

    def _refuse_keys_given_twice(self, jobs: dict[int, ScheduledJob]) -> None:
        first: dict[tuple[str, str], int] = {}
        for place, job in jobs.items():
            definition = job.definition
            if definition.key is None:
                continue
            other = first.setdefault((definition.handler_name, definition.key), place)
            if other != place:
                self._refused.append((place, InvalidJob.of("key", f"is that of jobs[{other}] too")))

    async def _refuse_what_nobody_runs(self, jobs: dict[int, ScheduledJob]) -> None:
        known = await self.known.known({job.definition.capability for job in jobs.values()})
        is_told = False
        for place, job in jobs.items():
            try:
                self.known.judge(job.definition, known, allow_unknown=self.wanted[place].allow_unknown_handler)
            except HandlerNotFound as error:
                # Which there are is told once: there may be many of these, and of those.
                brief = InvalidJob.of("handler_name", f"no handler is named {error.name!r}")
                self._refused.append((place, brief if is_told else error))
                is_told = True
            except InvalidInput as error:
                self._refused.append((place, error))


def _told_at_once(refused: Sequence[tuple[int, InvalidInput]]) -> InvalidInput:
    kind = InvalidSchedule if all(isinstance(error, InvalidSchedule) for _, error in refused) else InvalidJob
    ordered = sorted(refused, key=lambda each: each[0])
    return kind(fault for place, error in ordered for fault in faults_of_job(place, error))
