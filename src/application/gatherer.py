"""The gatherer: the loop that acts upon events which event handlers held, once their time has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from ..domain.errors import Unavailable
from ..domain.resolution import Resolved
from ..ports.events import DueGathering, EventStore
from .events import Events
from .resolver import Resolver
from .turns import Turns

BATCH: Final = 100


@dataclass(slots=True, kw_only=True)
class Gatherer:
    """
    Acts upon what is due. Any number of gatherers may run at once: the store decides who closes what.

    What cannot be acted upon is told of once, stays where it is, is tried again in each round, and holds up no other.
    """

    store: EventStore
    resolver: Resolver
    events: Events
    batch: int = BATCH
    _failing: set[UUID] = field(default_factory=set, init=False)
    _turns: Turns[DueGathering] = field(init=False)

    def __post_init__(self) -> None:
        """Know gatherings by their ids."""
        self._turns = Turns(key=lambda item: item.gathering.id)

    async def run_once(self) -> float | None:
        """
        Act upon one batch of gatherings; answer in how many seconds the next is due.

        Raises:
            Unavailable: the store did not answer, whatever it was asked to act upon, and nothing is to blame for it.
        """
        # What failed is the earliest, and must not leave too little room for what came after it.
        due = await self.store.due_gatherings(limit=self.batch + len(self._failing) + self._turns.late)
        fresh = [item for item in due.items if item.gathering.id not in self._failing]
        again = [item for item in due.items if item.gathering.id in self._failing]
        has_acted = bool(fresh) and await self._act_together(fresh)
        rest = again if has_acted else [*fresh, *again]
        has_acted |= await self._act_in_turns(rest, has_acted=has_acted)
        if due.items and not has_acted:
            # More may be due, and hardly fares better at once.
            return None
        return None if due.next_due is None else (due.next_due - due.now).total_seconds()

    async def _act_together(self, items: Sequence[DueGathering]) -> bool:
        try:
            await self._act(items)
        except Exception:  # noqa: BLE001 - each is tried alone: one that cannot be acted upon must not hold up the rest
            return False
        return True

    async def _act_in_turns(self, items: Sequence[DueGathering], *, has_acted: bool) -> bool:
        """Act upon each by itself; answer whether any was acted upon."""
        done = await self._turns.take(items, self._act_alone)
        failures = [(item, error) for item, error in done.taken if error is not None]
        has_acted |= len(failures) < len(done.taken)
        if done.error is not None:
            if not has_acted and not self._failing.issuperset(item.gathering.id for item in done.missed):
                raise done.error
            failures += [(item, done.error) for item in done.missed]
        for item, error in failures:
            self._tell(item, error)
        waiting = {item.gathering.id for item in done.waiting}
        self._failing = {item.gathering.id for item, _ in failures} | (self._failing & waiting)
        return has_acted

    async def _act_alone(self, item: DueGathering) -> Exception | None:
        try:
            await self._act([item])
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - told of by the caller
            return error
        return None

    async def _act(self, items: Sequence[DueGathering]) -> None:
        resolved = [await self._resolved(item) for item in items]
        await self.events.revisit(resolved, closes=[item.gathering for item in items])

    async def _resolved(self, item: DueGathering) -> Resolved:
        return await self.resolver.gathered(item.handler, item.gathering, item.events)

    def _tell(self, item: DueGathering, error: Exception) -> None:
        if item.gathering.id not in self._failing:
            self.events.telemetry.error(
                "gathering.failed",
                gathering_id=str(item.gathering.id),
                event_handler_id=str(item.handler.id),
                error=f"{type(error).__name__}: {error}",
                exc_info=error,
            )
