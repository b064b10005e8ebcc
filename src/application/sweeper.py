"""The sweeper: the loop that recovers what died, was lost on its way, or has waited long enough."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from ..domain.attempt import lose
from ..domain.execution import ExecutionStatus
from ..domain.facts import NODE_LOST, fact_of_node
from ..domain.job import DEFAULT_TENANT
from ..domain.json import Json
from ..ports.clock import Clock
from ..ports.dispatcher import Dispatch, Dispatcher
from ..ports.events import Outbox
from ..ports.ledger import Hold, Lapse, Lease, Ledger, Sighting
from ..ports.stores import WORKER_SILENCE, WorkerStore
from ..ports.telemetry import Metric, Telemetry
from .handing_on import hand_on
from .held_attempt import HEARTBEAT_SECONDS, HEARTBEATS_PER_LEASE

T = TypeVar("T")

BATCH: Final = 500
PAGES: Final = 10
ABREAST: Final = 3
"""Batches that are recovered at the same time."""

LAPSES: Final = 20_000
"""Expired leases that are looked at together, so that all are confirmed at once, though recovered in batches."""

RENEWAL_MARGIN: Final = 2.0


@dataclass(slots=True)
class Suspicions(Generic[T]):
    """What looks dead by the wall clock, and since when by this node's monotonic clock."""

    _since: dict[T, float] = field(default_factory=dict)

    def confirmed(self, patience: Mapping[T, float], now: float) -> set[T]:
        """Of what looks dead now, answer what has for longer than its patience, in seconds; forget all else."""
        self._since = {suspect: self._since.get(suspect, now) for suspect in patience}
        return {suspect for suspect, since in self._since.items() if now - since > patience[suspect]}


@dataclass(slots=True, kw_only=True)
class Sweeper:
    """
    Repairs, safely on every node at once.

    A lease counts as expired, and a worker as silent, only when seen so and unchanged twice, more than a heartbeat
    apart by this node's monotonic clock: so a jump of the wall clock ends no live attempt and buries no live worker.

    `capabilities` lists what this node can run: over a pipe of its own it repeats only such dispatches, the others are
    left to nodes that can; None, over a shared pipe, stands for all. `grace` is how long a dispatch may stay
    unclaimed before somebody asks whether it got lost.
    """

    ledger: Ledger
    workers: WorkerStore
    outbox: Outbox
    dispatcher: Dispatcher
    clock: Clock
    telemetry: Telemetry
    capabilities: Callable[[], Collection[str] | None]
    grace: timedelta
    batch: int = BATCH
    _lapses: Suspicions[Lapse] = field(default_factory=Suspicions, init=False)
    _silent: Suspicions[tuple[str, datetime]] = field(default_factory=Suspicions, init=False)
    _looked_through: Sighting | None = field(default=None, init=False)

    async def run_once(self) -> float | None:
        """
        Sweep once; answer in how many seconds the next waiting retry is available, 0 while lost work is left.

        A step that fails keeps no other from its work; the first error is raised at the end.
        """
        steps = (self._repeat_lost, self._recover, self._bury, self._dispatch_ready)
        outcomes = [await _outcome_of(step) for step in steps]
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return min((outcome for outcome in outcomes if isinstance(outcome, float)), default=None)

    async def _dispatch_ready(self) -> float | None:
        ready = await self.ledger.ready(limit=self.batch)
        await self._hand_on(ready.dispatches)
        if len(ready.dispatches) == self.batch:
            return 0.0
        return None if ready.next_available_at is None else (ready.next_available_at - ready.now).total_seconds()

    async def _repeat_lost(self) -> float | None:
        """Look through a bounded part of what is unclaimed, where the last sweep left off; 0 if that was worth it."""
        capabilities = self.capabilities()
        if capabilities is not None and not capabilities:
            return None
        repeated = 0
        for _ in range(PAGES):
            seen = await self.ledger.undelivered(
                capabilities=capabilities, grace=self.grace, limit=self.batch, after=self._looked_through
            )
            repeated += await self._repeat(seen)
            if len(seen) < self.batch:
                self._looked_through = None
                return None
            last, at = seen[-1]
            self._looked_through = last.execution_id, at
        return 0.0 if repeated else None

    async def _repeat(self, seen: Sequence[tuple[Dispatch, datetime]]) -> int:
        lost = {item.execution_id for item in await self.dispatcher.lost(seen)}
        if not lost:
            return 0
        losses = [(item.execution_id, at) for item, at in seen if item.execution_id in lost]
        taken = await self.ledger.redispatch(losses)
        if taken:
            self.telemetry.warning("dispatch.repeated", executions=len(taken))
            await self._hand_on(taken)
        return len(taken)

    async def _recover(self) -> None:
        confirmed = self._confirmed(await self.ledger.lapsed(limit=LAPSES))
        batches = [confirmed[first : first + self.batch] for first in range(0, len(confirmed), self.batch)]
        for first in range(0, len(batches), ABREAST):
            abreast = (self._recover_batch(batch) for batch in batches[first : first + ABREAST])
            for outcome in await asyncio.gather(*abreast, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome

    def _confirmed(self, lapses: Sequence[Lapse]) -> list[Lapse]:
        """Keep the leases that have stood expired and unchanged for longer than their holder's heartbeat."""
        confirmed = self._lapses.confirmed({lapse: _patience(lapse) for lapse in lapses}, self.clock.monotonic())
        return [lapse for lapse in lapses if lapse in confirmed]

    async def _recover_batch(self, lapses: Sequence[Lapse]) -> None:
        seen = {lapse.hold: lapse.lease_expires_at for lapse in lapses}
        expired = [
            lease for lease in await self.ledger.expired(list(seen)) if seen[_hold(lease)] == lease.lease_expires_at
        ]
        running = [lease for lease in expired if lease.status is ExecutionStatus.RUNNING]
        unreleased = [lease for lease in expired if lease.status is not ExecutionStatus.RUNNING]
        finished = await self.ledger.finish(
            [lose(lease.attempt, lease.lease_expires_at, chance=random.random()) for lease in running]  # noqa: S311 - spreads retries, guards nothing
        )
        freed = await self.ledger.release([_hold(lease) for lease in unreleased])
        self.telemetry.warning("lease.expired", executions=len(running), slots=len(unreleased))
        self.telemetry.add(Metric.LEASE_LOSSES, len(running), seen="expired")
        await self._hand_on([*finished.dispatches, *freed])

    async def _hand_on(self, dispatches: Sequence[Dispatch]) -> None:
        await hand_on(dispatches, to=self.dispatcher, telemetry=self.telemetry)

    async def _bury(self) -> None:
        since = self.clock.now() - WORKER_SILENCE
        silent = [worker for worker in await self.workers.list() if worker.heartbeat_at < since]
        patience = {(worker.id, worker.heartbeat_at): HEARTBEAT_SECONDS + RENEWAL_MARGIN for worker in silent}
        seen = self._silent.confirmed(patience, self.clock.monotonic())
        for worker in await self.workers.bury(seen=seen, silent_for=WORKER_SILENCE):
            heartbeat_at = worker.heartbeat_at.isoformat()
            self.telemetry.warning("worker.dead", worker_id=worker.id, heartbeat_at=heartbeat_at)
            lost: dict[str, Json] = {"worker_id": worker.id, "name": worker.name, "heartbeat_at": heartbeat_at}
            subject = f"worker/{worker.id}"
            fact = fact_of_node(NODE_LOST, lost, DEFAULT_TENANT, subject=subject, now=self.clock.now())
            await self.outbox.append([fact])


async def _outcome_of(step: Callable[[], Awaitable[float | None]]) -> float | Exception | None:
    try:
        return await step()
    except Exception as error:  # noqa: BLE001 - handed to the loop once the other steps had their turn
        return error


def _hold(lease: Lease) -> Hold:
    return lease.attempt.execution_id, lease.attempt.attempt


def _patience(lapse: Lapse) -> float:
    """Give the holder time for one more renewal, and for the store to take it."""
    return min(HEARTBEAT_SECONDS, lapse.lock_timeout_seconds / HEARTBEATS_PER_LEASE) + RENEWAL_MARGIN
