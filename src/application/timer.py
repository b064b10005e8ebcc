"""The timer: the loop that turns due nominal times into executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..ports.dispatcher import Dispatcher
from ..ports.ledger import Ledger
from ..ports.telemetry import Telemetry
from .handing_on import hand_on
from .planning import Planning
from .plans import NotedPlans

BATCH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """Fires what is due. Any number of timers may run at once: the ledger decides who fires what."""

    ledger: Ledger
    dispatcher: Dispatcher
    planning: Planning
    telemetry: Telemetry
    batch: int = BATCH

    async def run_once(self) -> float | None:
        """Fire one batch of due jobs and hand it on; answer in how many seconds the next job is due."""
        plans = NotedPlans(self.planning.fire)
        fired = await self.ledger.fire(plans, limit=self.batch)
        plans.tell(self.telemetry)
        await hand_on(fired.dispatches, to=self.dispatcher, telemetry=self.telemetry)
        if fired.jobs:
            self.telemetry.debug("timer.fired", jobs=fired.jobs, executions=fired.executions, skips=fired.skips)
        return None if fired.next_due is None else (fired.next_due - fired.now).total_seconds()
