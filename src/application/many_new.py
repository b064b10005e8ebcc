"""Many new jobs made in one go: what is wrong with any of them is told at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..domain import lifecycle
from ..domain.errors import FieldError, InvalidInput, InvalidJob, InvalidSchedule
from ..domain.job import HandlerType, ScheduledJob
from ..domain.lifecycle import Moment
from ..ports.batches import NewJob
from .known_handlers import KnownHandlers

_BREATH: Final = 10
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
            if place % _BREATH == 0:
                await asyncio.sleep(0)
        self._refuse_keys_given_twice(jobs)
        await self._refuse_unknown_functions(jobs)
        if self._refused:
            raise _told_at_once(self._refused)
        return list(jobs.values())

    def _job(self, each: NewJob) -> ScheduledJob:
        job = lifecycle.create(each.definition, self.moment, tenant_id=self.tenant_id, paused=not each.enabled)
        self.known.check_payload(job.definition)
        return job

    def _refuse_keys_given_twice(self, jobs: dict[int, ScheduledJob]) -> None:
        first: dict[tuple[str, str], int] = {}
        for place, job in jobs.items():
            definition = job.definition
            if definition.key is None:
                continue
            other = first.setdefault((definition.handler_name, definition.key), place)
            if other != place:
                self._refused.append((place, InvalidJob.of("key", f"is that of jobs[{other}] too")))

    async def _refuse_unknown_functions(self, jobs: dict[int, ScheduledJob]) -> None:
        functions = {
            place: job.definition
            for place, job in jobs.items()
            if job.definition.handler_type is HandlerType.FUNCTION and not self.wanted[place].allow_unknown_handler
        }
        known = await self.known.known({definition.capability for definition in functions.values()})
        for place, definition in functions.items():
            try:
                self.known.check_name(definition, known)
            except InvalidInput as error:
                self._refused.append((place, error))


def _told_at_once(refused: Sequence[tuple[int, InvalidInput]]) -> InvalidInput:
    kind = InvalidSchedule if all(isinstance(error, InvalidSchedule) for _, error in refused) else InvalidJob
    ordered = sorted(refused, key=lambda each: each[0])
    return kind(
        FieldError(f"jobs[{place}].{each.field}", each.message) for place, error in ordered for each in error.errors
    )
