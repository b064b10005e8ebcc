"""A node: the loops that one process runs, from their start to the end of the drain, and their rest while drained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from ..ports.stores import Worker
from .event_retention import INTERVAL_SECONDS as EVENT_RETENTION_SECONDS
from .event_retention import LEASE as EVENT_RETENTION_LEASE
from .executor import Executor, Fence, Finisher, Heartbeat
from .figures import INTERVAL_SECONDS as BACKLOG_SECONDS
from .figures import LEASE as BACKLOG_LEASE
from .figures import BacklogGauge
from .loop import Agent, Loop, Pulse
from .parts import Identity, Limits, Parts, Role
from .relay import INTERVAL_SECONDS as RELAY_SECONDS
from .relay import LEASE as RELAY_LEASE
from .retention import INTERVAL_SECONDS, LEASE
from .singleton import Singleton
from .sweeper import Sweeper
from .timer import Timer
from .watch import INTERVAL_SECONDS as WATCH_SECONDS
from .watch import LEASE as WATCH_LEASE
from .watch import LedgerWatch

BEAT_SECONDS: Final = 5.0
DRAINING_BEAT_SECONDS: Final = 1.0
HEARTBEAT_CAP: Final = 1.0
FENCE_CAP: Final = 0.5
FINISH_CAP: Final = 1.0
STOP_GRACE_SECONDS: Final = 3.0
KEEPING: Final = frozenset({"heartbeat", "fence", "finisher"})
"""The loops that see running work to its end; the others take work on, or tell of the node."""


@dataclass(slots=True, kw_only=True)
class Node:
    """
    Runs the loops of its roles between `start` and `stop`, each begun again should its task end before.

    A handler can cancel every task of its event loop, so that a loop's end says nothing about the loop. It is `live`
    while it takes work: started, not asked to drain, not stopping.
    """

    identity: Identity
    parts: Parts
    limits: Limits = field(default_factory=Limits)
    executor: Executor | None = field(default=None, init=False)
    watch: LedgerWatch | None = field(default=None, init=False)
    live: bool = field(default=False, init=False)
    _loops: dict[str, Loop] = field(default_factory=dict, init=False)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _singletons: list[Singleton] = field(default_factory=list, init=False)
    _stopping: bool = field(default=False, init=False)
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
            self._add_event_loops(wake)
        if Role.EXECUTOR in roles:
            self._add_executor()
        if Role.SWEEPER in roles:
            sweeper = Sweeper(
                ledger=parts.storage.ledger,
                workers=parts.storage.workers,
                outbox=parts.storage.outbox,
                dispatcher=parts.dispatcher,
                clock=parts.clock,
                telemetry=parts.telemetry,
                capabilities=self._repeats,
                grace=self.limits.dispatch_grace,
            )
            self._add("sweeper", sweeper, cap=wake)
            if self.executor is not None:
                self._loops["sweeper"].bell = self.executor.retrying
            self._add_singleton("retention", parts.retention, cap=INTERVAL_SECONDS, lease=LEASE)
            self.watch = LedgerWatch(
                ledger=parts.storage.ledger,
                jobs=parts.storage.jobs,
                outbox=parts.storage.outbox,
                auditor=parts.auditor,
                telemetry=parts.telemetry,
            )
            self._add_singleton(
                "event retention", parts.events.retention, cap=EVENT_RETENTION_SECONDS, lease=EVENT_RETENTION_LEASE
            )
            self._add_singleton("ledger", self.watch, cap=WATCH_SECONDS, lease=WATCH_LEASE, lost=self.watch.forget)
            backlog = BacklogGauge(
                jobs=parts.storage.jobs, executions=parts.storage.executions, telemetry=parts.telemetry
            )
            self._add_singleton("backlog", backlog, cap=BACKLOG_SECONDS, lease=BACKLOG_LEASE, lost=backlog.forget)
        if roles - {Role.API}:
            self._add("registration", Registration(self), cap=BEAT_SECONDS)

    def _add_event_loops(self, wake: float) -> None:
        parts = self.parts.events
        self._add("gatherer", parts.gatherer, cap=wake)
        self._add_singleton("relay", parts.relay, cap=RELAY_SECONDS, lease=RELAY_LEASE, lost=parts.relay.forget)
        if parts.exporter is not None:
            self._add_singleton(
                "export", parts.exporter, cap=RELAY_SECONDS, lease=RELAY_LEASE, lost=parts.exporter.forget
            )
        if parts.arrivals is not None:
            self._add("arrivals", parts.arrivals, cap=0.0)

    def _repeats(self) -> Collection[str] | None:
        """Tell what may be dispatched again from here: over a pipe of this node's own only what it can run."""
        if self.parts.dispatcher.is_shared:
            return None
        return self.parts.handlers.capabilities() if self.executor else frozenset()

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

    def _add_singleton(
        self, name: str, agent: Agent, *, cap: float, lease: timedelta, lost: Callable[[], None] = lambda: None
    ) -> None:
        """Add a loop whose rounds one node does for all; `lease` is longer than `cap` (`Singleton`)."""
        singleton = Singleton(
            agent=agent,
            locks=self.parts.storage.locks,
            clock=self.parts.clock,
            name=name,
            holder=self.identity.worker_id,
            lease=lease,
            lost=lost,
        )
        self._singletons.append(singleton)
        self._add(name, singleton, cap=cap)

    @property
    def status(self) -> str:
        """How it is, as the registry words it (`Worker.status`)."""
        if self.live:
            return "live"
        is_busy = self.executor is not None and self.executor.held
        return "draining" if self._stopping or is_busy else "drained"

    @property
    def pulses(self) -> Sequence[Pulse]:
        """How the loops are doing."""
        return [loop.pulse for loop in self._loops.values()]

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
        self._loops[name].begin()
        self._tasks[name] = task = asyncio.create_task(self._loops[name].run(), name=f"tocsin {name}")
        task.add_done_callback(lambda ended: self._run_again(name, ended))

    def _run_again(self, name: str, ended: asyncio.Task[None]) -> None:
        reason = "cancelled" if ended.cancelled() else type(ended.exception()).__name__
        if not self._loops[name].pulse.resting:
            self.parts.telemetry.error("loop.ended", loop=name, reason=reason)
            self._run(name)

    async def follow(self, *, drain: bool) -> None:
        """
        Take no more work, or take work again, as the registry asks; harmless if it is so already.

        While drained it fires, claims and sweeps nothing and holds no lock. What runs goes on, as long as it takes,
        under leases that are kept.
        """
        if self._stopping:
            return
        resting = [name for name in self._loops if name not in KEEPING and name != "registration"]
        if self.live == drain:
            self.live = not drain
            self.parts.telemetry.info(
                "node.drain_requested" if drain else "node.resumed", worker_id=self.identity.worker_id
            )
            for name in resting if self.live else ():
                self._run(name)
        if drain:
            await self._end(resting)
            if self.executor is not None:
                self.executor.hand_back_waiting()
            await self._hand_over()

    async def stop(self) -> None:
        """
        Fire and claim nothing more, let running work finish up to the drain limit, hand the rest back.

        Leases are kept and ends are written all the while. A stop that was cancelled may be begun again.
        """
        self.live, self._stopping = False, True
        await self._end([name for name in self._loops if name not in KEEPING])
        await self._hand_over()
        if self._started_at is not None and self._loops:
            await self._register_if_possible("draining")
        if self.executor is not None:
            await self._drain(self.executor)
        await self._end(KEEPING)
        if self._started_at is not None and self._loops:
            await self._register_if_possible("stopped")
        self.parts.telemetry.info("node.stopped", worker_id=self.identity.worker_id)

    async def _end(self, names: Iterable[str]) -> None:
        present = [name for name in names if name in self._tasks]
        for name in present:
            self._loops[name].stop()
        if present:
            await asyncio.wait([self._tasks[name] for name in present])
        for name in present:
            self._tasks.pop(name, None)

    async def _hand_over(self) -> None:
        for singleton in self._singletons:
            try:
                await singleton.hand_over()
            except Exception as error:  # noqa: BLE001 - a lock that cannot be given up lapses; the node must still rest
                self.parts.telemetry.warning("lock.kept", lock=singleton.name, error=str(error))

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

    async def register(self, status: str) -> Worker:
        """Tell the registry that this node exists, what it can run and how it is; answer what it is asked to do."""
        return await self.parts.storage.workers.beat(
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
                anomalies=len(self.watch.anomalies) if self.watch else 0,
            ),
        )


@dataclass(frozen=True, slots=True)
class Registration:
    """The agent that keeps a node known, and has it follow what the registry asks of it."""

    node: Node

    async def run_once(self) -> float | None:
        """Beat once, and again at once if the answer changed how the node is; while it drains, beat more often."""
        told = await self.node.register(self.node.status)
        await self.node.follow(drain=told.drain_requested)
        if self.node.status != told.status:
            await self.node.register(self.node.status)
        return DRAINING_BEAT_SECONDS if self.node.status == "draining" else None
