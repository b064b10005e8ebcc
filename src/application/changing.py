"""How requests change jobs: the moment at which is decided, and what follows once it is committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from ..domain.job import ScheduledJob
from ..domain.lifecycle import Moment
from ..domain.plan import Plan
from ..ports.batches import Added, ChangedJobs
from ..ports.dispatcher import Dispatcher
from ..ports.stores import Changed
from ..ports.telemetry import Telemetry
from .handing_on import hand_on
from .planning import Planning
from .plans import NotedPlans
from .running import depth_here

Change: TypeAlias = Callable[[ScheduledJob, Moment], Plan]
"""What a request wants of a job; what it raises undoes the transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wakers:
    """
    Whom a change wakes.

    The timer for a new next_run, the heartbeat for a cancelled execution, the registration for a drain.
    """

    timer: Callable[[], None] = lambda: None
    heartbeat: Callable[[], None] = lambda: None
    registration: Callable[[], None] = lambda: None


class Changing:
    """What is the same for whatever the scheduler changes; its fields are the scheduler's."""

    __slots__ = ()

    planning: Planning
    dispatcher: Dispatcher
    telemetry: Telemetry
    wakers: Wakers
    actor: str | None

    def _moments(self) -> Callable[[datetime], Moment]:
        """Give what turns the store's now into the moment of a decision that is asked for here."""
        # The store may decide in a thread of its own, which knows of no span and of no handler.
        trace, depth = self.telemetry.current(), depth_here()
        return lambda now: self.planning.moment(now, self.actor, trace=trace, depth=depth)

    def _noted(self, change: Change) -> NotedPlans:
        """Give the decision that a store is to ask for."""
        moments = self._moments()
        return NotedPlans(lambda job, now: change(job, moments(now)))

    async def _tell(self, changed: Added | Changed | ChangedJobs, *plans: NotedPlans) -> None:
        """Count what was decided, hand on what may be claimed now, and wake whom it concerns."""
        for noted in plans:
            noted.tell(self.telemetry)
        await hand_on(changed.dispatches, to=self.dispatcher, telemetry=self.telemetry)
        if changed.stopped:
            self.wakers.heartbeat()
        self.wakers.timer()
