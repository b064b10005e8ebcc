"""Bringing jobs to what the code of a module declares, as its node starts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ..domain.errors import Conflict, InvalidTransition, JobNotFound, VersionConflict
from ..domain.ownership import code_scope
from ..domain.reconciliation import Declaration, Fate, Step, Terms, reconcile
from ..ports.scheduler import IScheduler
from ..ports.telemetry import Telemetry
from .declared_jobs import DEFAULTS, DeclaredJobs

RACES: Final = (Conflict, VersionConflict, JobNotFound, InvalidTransition)
"""What a step raises when something changed since it was planned."""

_TRIES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeDeclarer:
    """
    Makes and changes the jobs that modules declare; ends none.

    Nodes that start at once do not fight: who loses a race reads again, and finds that there is nothing left to do.
    """

    scheduler: IScheduler
    telemetry: Telemetry

    async def declare(self, module: str, declared: Sequence[Declaration]) -> Sequence[Step]:
        """
        Reconcile what one module declares; a job that it declares no more is told of and goes on.

        Raises:
            InvalidInput: a job is refused, or declared twice.
            VersionConflict, Conflict: others kept changing the jobs all the while.
        """
        for _ in range(_TRIES - 1):
            with suppress(*RACES):
                return await self._reconciled(code_scope(module), declared)
        return await self._reconciled(code_scope(module), declared)

    async def _reconciled(self, scope: str, declared: Sequence[Declaration]) -> Sequence[Step]:
        jobs = DeclaredJobs(scheduler=self.scheduler)
        standing = await jobs.standing(declared, scope=scope)
        steps = reconcile(declared, standing, Terms(scope=scope, defaults=DEFAULTS))
        for step in steps:
            if step.does_something:
                await jobs.do(step)
            self._tell(step)
        return steps

    def _tell(self, step: Step) -> None:
        match step.fate:
            case Fate.CREATE | Fate.CHANGE:
                self.telemetry.info("job.declared", key=step.key, fate=step.fate.value)
            case Fate.CONFLICT:
                scope = None if step.owner is None else step.owner.scope
                self.telemetry.warning("job.declared_elsewhere", key=step.key, scope=scope)
            case Fate.LEFT_OVER:
                self.telemetry.warning("job.orphaned", key=step.key, next=f"tocsin jobs delete {step.key}")
