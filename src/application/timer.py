"""The timer: the loop that turns due nominal times into executions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ..domain.firing import LOOK_AHEAD
from ..ports.dispatcher import Dispatcher
from ..ports.ledger import Fired, Ledger
from ..ports.telemetry import Telemetry
from .handing_on import hand_on
from .planning import Planning
from .plans import NotedPlans

BATCH: Final = 500
_LANES: Final = 2
"""Batches under way at once while many jobs are due: what is planned and what is written."""
_BATCHES: Final = 8
"""Of each lane in one round, so that a round stays short whatever is due."""

_PAUSE: Final = timedelta(milliseconds=50)
"""Between two looks at jobs that are about to be due and wait for a slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """Fires jobs, a little ahead of their time. Any number of timers may run: the ledger decides who fires what."""

    ledger: Ledger
    dispatcher: Dispatcher
    planning: Planning
    telemetry: Telemetry
    batch: int = BATCH

    async def run_once(self) -> float | None:
        """Fire a batch of jobs, and more while batches are full; answer in how many seconds to look again."""
        fired = await self._fire()
        if not self._was_full(fired):
            return _until_next(fired)
        # While the store writes one batch another is planned, so that neither waits for the other.
        lanes = await asyncio.gather(*(self._lane() for _ in range(_LANES)), return_exceptions=True)
        if failures := [lane for lane in lanes if isinstance(lane, BaseException)]:
            raise failures[0]
        return 0.0

    async def _lane(self) -> None:
        for _ in range(_BATCHES):
            if not self._was_full(await self._fire()):
                return

    def _was_full(self, fired: Fired) -> bool:
        """Tell whether more is likely to be due; of a full batch a part may have been another timer's, or postponed."""
        return 2 * fired.jobs >= self.batch

    async def _fire(self) -> Fired:
        """Fire one batch, and hand it on."""
        plans = NotedPlans(self.planning.fire)
        fired = await self.ledger.fire(plans, limit=self.batch, ahead=LOOK_AHEAD)
        plans.tell(self.telemetry)
        await hand_on(fired.dispatches, to=self.dispatcher, telemetry=self.telemetry)
        if fired.jobs:
            self.telemetry.debug(
                "timer.fired",
                jobs=fired.jobs,
                executions=fired.executions,
                skips=fired.skips,
                postponed=fired.postponed,
            )
        return fired


def _until_next(fired: Fired) -> float | None:
    """Tell how long to sleep, in seconds; what is about to be due may have been looked at in vain."""
    if fired.next_due is None:
        return None
    until_due = fired.next_due - fired.now
    if fired.jobs or until_due > LOOK_AHEAD:
        return (until_due - LOOK_AHEAD).total_seconds()
    return min(until_due, _PAUSE).total_seconds()
