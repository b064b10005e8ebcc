"""A node: the loops that one process runs, from their start to the end of the drain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.handlers import Handlers
from ..ports.storage import Storage
from ..ports.stores import Worker
from ..ports.telemetry import Telemetry
from .executor import CAPACITY, Executor, Fence, Finisher, Heartbeat
from .loop import Agent, Loop, Pulse
from .planning import Planning
from .retention import INTERVAL_SECONDS, Retention
from .sweeper import Sweeper
from .timer import Timer

BEAT_SECONDS: Final = 10.0
HEARTBEAT_CAP: Final = 1.0
FENCE_CAP: Final = 0.5
FINISH_CAP: Final = 1.0
DRAIN_SECONDS: Final = 30.0
STOP_GRACE_SECONDS: Final = 3.0


class Role(StrEnum):
    """What a process does: serve requests, fire, run, recover."""

    API = "api"
    TIMER = "timer"
    EXECUTOR = "executor"
    SWEEPER = "sweeper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a node is: its name, and a boot id that makes a restart another worker."""

    name: str
    boot_id: str
    version: str
    roles: Sequence[Role]

    @property
    def worker_id(self) -> str:
        """The name under which it holds leases."""
        return f"{self.name}#{self.boot_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The ports that a node's loops work with."""

    storage: Storage
    dispatcher: Dispatcher
    handlers: Handlers
    planning: Planning
    retention: Retention
    clock: Clock
    telemetry: Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What a node may hold and how long it may take.

    `wake_seconds` caps every wait: 1 where processes share no bell, 5 elsewhere. `dispatch_grace` is how long a
    dispatched execution may stay unclaimed before somebody asks whether it got lost.
    """

    capacity: int = CAPACITY
    wake_seconds: float = 1.0
    dispatch_grace: timedelta = timedelta(seconds=1)
    drain_seconds: float = DRAIN_SECONDS


@dataclass(slots=True, kw_only=True)
class Node:
    """
    Runs the loops of its roles between `start` and `stop`, each begun again should its task end before.

    A handler can cancel every task of its event loop, so that a loop's end says nothing about the loop.
    """

    identity: Identity
    parts: Parts
    limits: Limits = Limits()
    executor: Executor | None = field(default=None, init=False)
    live: bool = field(default=False, init=False)
    _loops: dict[str, Loop] = field(default_factory=dict, init=False)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _started_at: datetime | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Build the loops of the roles; none runs yet."""
        roles, parts, wake = set(self.identity.roles), self.parts, self.limits.wake_seconds
        if Role.TIMER in roles:
            timer = Timer(
                ledger=parts.storage.ledger,
                dispatcher=parts.dispatcher,
                planning=parts.planning,
                telemetry=parts.telemetry,
            )
            self._add("timer", timer, cap=wake)
        if Role.EXECUTOR in roles:
            self._add_executor()
        if Role.SWEEPER in roles:
            sweeper = Sweeper(
                ledger=parts.storage.ledger,
                workers=parts.storage.workers,
                dispatcher=parts.dispatcher,
                clock=parts.clock,
                telemetry=parts.telemetry,
                capabilities=parts.handlers.capabilities if self.executor else frozenset,
                grace=self.limits.dispatch_grace,
            )
            self._add("sweeper", sweeper, cap=wake)
            if self.executor is not None:
                self._loops["sweeper"].bell = self.executor.retrying
            self._add("retention", parts.retention, cap=INTERVAL_SECONDS)
        if roles - {Role.API}:
            self._add("registration", Registration(self), cap=BEAT_SECONDS)

    def _add_executor(self) -> None:
        parts = self.parts
        self.executor = executor = Executor(
            ledger=parts.storage.ledger,
            dispatcher=parts.dispatcher,
            handlers=parts.handlers,
            clock=parts.clock,
            telemetry=parts.telemetry,
            worker_id=self.identity.worker_id,
            capacity=self.limits.capacity,
        )
        self._add("executor", executor, cap=0.0)
        self._add("heartbeat", Heartbeat(executor), cap=HEARTBEAT_CAP)
        self._add("fence", Fence(executor), cap=FENCE_CAP)
        self._add("finisher", Finisher(executor), cap=FINISH_CAP)
        self._loops["finisher"].bell = executor.finished

    def _add(self, name: str, agent: Agent, *, cap: float) -> None:
        self._loops[name] = Loop(
            name=name, agent=agent, clock=self.parts.clock, telemetry=self.parts.telemetry, cap=cap
        )

    @property
    def pulses(self) -> Sequence[Pulse]:
        """How the loops that must go round often are doing."""
        return [loop.pulse for loop in self._loops.values() if loop.cap <= BEAT_SECONDS]

    def wake(self, name: str) -> None:
        """Ring a loop's bell; a loop that this node does not run hears nothing."""
        if name in self._loops:
            self._loops[name].bell.ring()

    async def start(self) -> None:
        """Register the worker, then start the loops."""
        self._started_at = self.parts.clock.now()
        if self._loops:
            await self.register("live")
        for name in self._loops:
            self._run(name)
        self.live = True
        self.parts.telemetry.info("node.started", worker_id=self.identity.worker_id, loops=sorted(self._loops))

    def _run(self, name: str) -> None:
        self._tasks[name] = task = asyncio.create_task(self._loops[name].run(), name=f"tocsin {name}")
        task.add_done_callback(lambda ended: self._run_again(name, ended))

    def _run_again(self, name: str, ended: asyncio.Task[None]) -> None:
        reason = "cancelled" if ended.cancelled() else type(ended.exception()).__name__
        if self._tasks.get(name) is ended:
            self.parts.telemetry.error("loop.ended", loop=name, reason=reason)
            self._run(name)

    async def stop(self) -> None:
        """
        Fire and claim nothing more, let running work finish up to the drain limit, hand the rest back.

        Leases are kept and ends are written all the while. A stop that was cancelled may be begun again.
        """
        self.live = False
        await self._end(["timer", "sweeper", "retention", "registration", "executor"])
        if self._started_at is not None and self._loops:
            await self._register_if_possible("draining")
        if self.executor is not None:
            await self._drain(self.executor)
        await self._end(["heartbeat", "fence", "finisher"])
        if self._started_at is not None and self._loops:
            await self._register_if_possible("stopped")
        self.parts.telemetry.info("node.stopped", worker_id=self.identity.worker_id)

    async def _end(self, names: Iterable[str]) -> None:
        present = [name for name in names if name in self._tasks]
        for name in present:
            self._loops[name].stop()
        if present:
            await asyncio.wait([self._tasks.pop(name) for name in present])

    async def _drain(self, executor: Executor) -> None:
        try:
            await executor.drain(limit=self.limits.drain_seconds, grace=STOP_GRACE_SECONDS)
        except Exception as error:  # noqa: BLE001 - the leases of what was not written lapse; the node must still stop
            self.parts.telemetry.error("node.undrained", unwritten=executor.ends.unwritten, error=str(error))

    async def _register_if_possible(self, status: str) -> None:
        try:
            await self.register(status)
        except Exception as error:  # noqa: BLE001 - a node that cannot say goodbye must still stop
            self.parts.telemetry.warning("node.unregistered", status=status, error=str(error))

    async def register(self, status: str) -> None:
        """Tell the registry that this node exists, what it can run and how it is."""
        await self.parts.storage.workers.beat(
            Worker(
                id=self.identity.worker_id,
                name=self.identity.name,
                roles=[role.value for role in self.identity.roles],
                capabilities=sorted(self.parts.handlers.capabilities()) if self.executor else [],
                version=self.identity.version,
                capacity=self.limits.capacity if self.executor else 0,
                running=self.executor.running if self.executor else 0,
                status=status,
                started_at=self._started_at or self.parts.clock.now(),
                heartbeat_at=self.parts.clock.now(),
            ),
        )


@dataclass(frozen=True, slots=True)
class Registration:
    """The agent that keeps a node known as live."""

    node: Node

    async def run_once(self) -> float | None:
        """Beat once."""
        await self.node.register("live")
        return None
