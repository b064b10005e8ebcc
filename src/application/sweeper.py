"""The sweeper: the loop that recovers what died, was lost on its way, or has waited long enough."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from ..domain.attempt import lose
from ..domain.execution import ExecutionStatus
from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.ledger import Lease, Ledger
from ..ports.stores import WORKER_SILENCE, WorkerStore
from ..ports.telemetry import Telemetry
from .hold import HEARTBEAT_SECONDS, HEARTBEATS_PER_LEASE

BATCH: Final = 500
DISPATCH_GRACE: Final = timedelta(seconds=10)
RENEWAL_MARGIN: Final = 2.0


@dataclass(slots=True, kw_only=True)
class Sweeper:
    """
    Repairs, safely on every node at once.

    A lease counts as expired only when seen expired and unchanged twice, more than a heartbeat apart by
    this node's monotonic clock: so a jump of the wall clock ends no live attempt.
    """

    ledger: Ledger
    workers: WorkerStore
    dispatcher: Dispatcher
    clock: Clock
    telemetry: Telemetry
    grace: timedelta = DISPATCH_GRACE
    _suspects: dict[tuple[UUID, int, float], float] = field(default_factory=dict, init=False)
    _is_behind: bool = field(default=False, init=False)

    async def run_once(self) -> float | None:
        """
        Sweep once; answer in how many seconds the next waiting retry is available, 0 while lost work is left.

        A step that fails keeps no other from its work; the first error is raised at the end.
        """
        self._is_behind = False
        steps = (self._repeat_lost, self._recover, self._bury)
        failures = [failure for step in steps if (failure := await _failure_of(step)) is not None]
        next_ready = await self._dispatch_ready()
        if failures:
            raise failures[0]
        return 0.0 if self._is_behind else next_ready

    async def _dispatch_ready(self) -> float | None:
        ready = await self.ledger.ready(limit=BATCH)
        if ready.dispatches:
            await self.dispatcher.dispatch(ready.dispatches)
        if len(ready.dispatches) == BATCH:
            return 0.0
        return None if ready.next_available_at is None else (ready.next_available_at - ready.now).total_seconds()

    async def _repeat_lost(self) -> None:
        seen = await self.ledger.undelivered(grace=self.grace, limit=BATCH)
        if not seen:
            return
        lost = {item.execution_id for item in await self.dispatcher.lost([item for item, _ in seen])}
        losses = [(item.execution_id, at) for item, at in seen if item.execution_id in lost]
        taken = await self.ledger.redispatch(losses)
        self._is_behind = len(taken) == BATCH
        if taken:
            self.telemetry.warning("dispatch.repeated", executions=len(taken))
            await self.dispatcher.dispatch(taken)

    async def _recover(self) -> None:
        expired = self._confirmed(await self.ledger.expired(limit=BATCH))
        if not expired:
            return
        running = [lease for lease in expired if lease.status is ExecutionStatus.RUNNING]
        unreleased = [lease for lease in expired if lease.status is not ExecutionStatus.RUNNING]
        finished = await self.ledger.finish(
            [lose(lease.attempt, lease.lease_expires_at, chance=random.random()) for lease in running]  # noqa: S311 - spreads retries, guards nothing
        )
        freed = await self.ledger.release([_fence(lease) for lease in unreleased])
        self.telemetry.warning("lease.expired", executions=len(running), slots=len(unreleased))
        if dispatches := [*finished.dispatches, *freed]:
            await self.dispatcher.dispatch(dispatches)

    def _confirmed(self, expired: Sequence[Lease]) -> list[Lease]:
        """Keep the leases that have stood expired and unchanged for longer than their holder's heartbeat."""
        now = self.clock.monotonic()
        first_seen = {_suspicion(lease): self._suspects.get(_suspicion(lease), now) for lease in expired}
        self._suspects = first_seen
        return [lease for lease in expired if now - first_seen[_suspicion(lease)] > _patience(lease)]

    async def _bury(self) -> None:
        for worker in await self.workers.bury(silent_for=WORKER_SILENCE):
            self.telemetry.warning("worker.dead", worker_id=worker.id, heartbeat_at=worker.heartbeat_at.isoformat())


async def _failure_of(step: Callable[[], Awaitable[None]]) -> Exception | None:
    try:
        await step()
    except Exception as error:  # noqa: BLE001 - handed to the loop once the other steps had their turn
        return error
    return None


def _fence(lease: Lease) -> tuple[UUID, int]:
    return lease.attempt.execution_id, lease.attempt.attempt


def _suspicion(lease: Lease) -> tuple[UUID, int, float]:
    return *_fence(lease), lease.lease_expires_at.timestamp()


def _patience(lease: Lease) -> float:
    """Give the holder time for one more renewal, and for the store to take it."""
    return min(HEARTBEAT_SECONDS, lease.attempt.lock_timeout_seconds / HEARTBEATS_PER_LEASE) + RENEWAL_MARGIN
