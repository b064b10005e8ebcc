"""Whether a node is doing its work, part by part, and in words why not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from ..domain.errors import StoreUnavailable
from ..ports.clock import Clock
from ..ports.reports import ComponentHealth, Health, HealthStatus
from ..ports.storage import Storage
from ..ports.stores import Worker
from .executor import Executor
from .loop import Pulse
from .statistics import queue_state
from .watch import LedgerWatch

T = TypeVar("T")

LATE_SECONDS: Final = 60.0
STALE_ROUNDS_SECONDS: Final = 30.0
"""For how long a loop may complete no round, beyond twice the time that it may wait between two."""

STORE_DEADLINE: Final = 5.0
MOST_NAMES: Final = 10
NEEDED_ROLES: Final = ("timer", "executor", "sweeper")
"""Without one of each somewhere, jobs are stored and never run."""

_WORST_LAST: Final = (HealthStatus.HEALTHY, HealthStatus.DEGRADED, HealthStatus.UNHEALTHY)
_HEALTHY: Final = ComponentHealth(status=HealthStatus.HEALTHY)


@dataclass(slots=True, kw_only=True)
class HealthCheck:
    """Looks at the store, the loops, the running handlers and the backlog of one node."""

    storage: Storage
    clock: Clock
    executor: Executor | None = None
    watch: LedgerWatch | None = None
    pulses: Sequence[Pulse] = ()
    _started: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Count uptime from now."""
        self._started = self.clock.monotonic()

    async def __call__(self) -> Health:
        """Look once; never raises for what it finds."""
        components = dict(await self._stored())
        for pulse in self.pulses:
            # What the ledger watch found, and whether it goes round, are one component.
            components[pulse.name] = _together(components.get(pulse.name, _HEALTHY), self._loop(pulse))
        if self.executor is not None:
            components["handlers"] = _handlers(self.executor)
        return Health(
            status=worst(component.status for component in components.values()),
            components=components,
            issues=list(_issues(components)),
            timestamp=self.clock.now(),
            uptime_seconds=self.clock.monotonic() - self._started,
        )

    async def _stored(self) -> Mapping[str, ComponentHealth]:
        """Ask the store how it is, and how all nodes are; figures that it cannot give in time do not make it broken."""
        registry, figures = await asyncio.gather(
            _answer_to(self._registry()), _answer_to(self.storage.executions.queue(None))
        )
        if isinstance(registry, str):
            broken = ComponentHealth(status=HealthStatus.UNHEALTHY, detail=registry)
            return {"store": broken, "ledger": _ledger(self.watch, [])}
        now, live = registry
        seen = {"store": _HEALTHY, "ledger": _ledger(self.watch, live)}
        if isinstance(figures, str):
            unknown = ComponentHealth(status=HealthStatus.DEGRADED, detail=f"not counted: {figures}")
            return {**seen, "queue": unknown, "workers": _workers(live, {})}
        queue = queue_state(figures, now)
        backlog = _backlog(queue.oldest_due_seconds, queue.oldest_ready_seconds)
        return {**seen, "queue": backlog, "workers": _workers(live, queue.unclaimed)}

    async def _registry(self) -> tuple[datetime, Sequence[Worker]]:
        """Read the store's clock, and who is live by it."""
        now = await self.storage.jobs.now()
        return now, [worker for worker in await self.storage.workers.list() if worker.is_live(now)]

    def _loop(self, pulse: Pulse) -> ComponentHealth:
        if pulse.resting:
            return _HEALTHY
        silent = self.clock.monotonic() - pulse.beat_at
        if silent > STALE_ROUNDS_SECONDS + 2 * pulse.cap:
            detail = f"no round completed for {silent:.0f} s; last error: {pulse.error or 'none'}"
            return ComponentHealth(status=HealthStatus.UNHEALTHY, detail=detail)
        if pulse.error is not None:
            return ComponentHealth(status=HealthStatus.DEGRADED, detail=pulse.error)
        return _HEALTHY


def worst(statuses: Iterable[HealthStatus]) -> HealthStatus:
    """Pick the worst status; nothing at all is healthy."""
    return max(statuses, key=_WORST_LAST.index, default=HealthStatus.HEALTHY)


def _together(one: ComponentHealth, other: ComponentHealth) -> ComponentHealth:
    ills = [each for each in (one, other) if each.status is not HealthStatus.HEALTHY]
    detail = "; ".join(each.detail for each in ills if each.detail is not None)
    return ComponentHealth(status=worst(each.status for each in ills), detail=detail or None)


async def _answer_to(question: Awaitable[T]) -> T | str:
    """Wait for what the store answers; say in words why it does not."""
    try:
        async with asyncio.timeout(STORE_DEADLINE):
            return await question
    except TimeoutError:
        return f"no answer within {STORE_DEADLINE:.0f} s"
    except StoreUnavailable as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a health check that a surprise can end says nothing when it matters
        return f"unexpected {type(error).__name__}"


def _workers(live: Sequence[Worker], unclaimed: Mapping[str, int]) -> ComponentHealth:
    """Hold what the live nodes do, and can run, against what there is to do."""
    present = {role for worker in live for role in worker.roles}
    missing = [role for role in NEEDED_ROLES if role not in present]
    lacks = [f"no live node has the role {' or '.join(missing)}"] if missing else []
    runnable = {capability for worker in live for capability in worker.capabilities}
    stranded = sorted(name for name in unclaimed if name not in runnable)
    lacks += [f"{_executions(unclaimed[name])} for {name}, which no live node has" for name in stranded[:MOST_NAMES]]
    if stranded[MOST_NAMES:]:
        lacks.append(f"and so do those for {len(stranded) - MOST_NAMES} more")
    return ComponentHealth(status=HealthStatus.DEGRADED, detail="; ".join(lacks)) if lacks else _HEALTHY


def _executions(count: int) -> str:
    return "1 execution waits" if count == 1 else f"{count} executions wait"


def _backlog(oldest_due: float, oldest_ready: float) -> ComponentHealth:
    if oldest_due > LATE_SECONDS:
        detail = f"a job has been due for {oldest_due:.0f} s without being fired"
    elif oldest_ready > LATE_SECONDS:
        detail = f"an execution has been ready for {oldest_ready:.0f} s without being started"
    else:
        return _HEALTHY
    return ComponentHealth(status=HealthStatus.DEGRADED, detail=detail)


def _handlers(executor: Executor) -> ComponentHealth:
    if executor.stuck:
        names = sorted({held.attempt.definition.handler_name for held in executor.stuck})
        detail = f"{len(executor.stuck)} told to end and still going on: {', '.join(names[:MOST_NAMES])}"
        return ComponentHealth(status=HealthStatus.DEGRADED, detail=detail)
    return _HEALTHY


def _ledger(watch: LedgerWatch | None, live: Sequence[Worker]) -> ComponentHealth:
    """Tell what this node or another found; whose job it is, and how it is defined, is for its tenant."""
    if watch is not None and watch.anomalies:
        first = watch.anomalies[0]
        found = f"{first.finding.kind.value} at {first.finding.first.isoformat()} of job {first.job_id}"
        count = len(watch.anomalies)
        detail = f"{count} {'finding' if count == 1 else 'findings'}, first: {found}"
    elif tellers := [worker for worker in live if worker.anomalies]:
        count = sum(worker.anomalies for worker in tellers)
        found, told = ("1 anomaly", "it") if count == 1 else (f"{count} anomalies", "them")
        where = " and ".join(f"node {worker.id}" for worker in tellers[:MOST_NAMES])
        detail = f"{found} in the ledger; the log of {where} tells {told}"
    else:
        return _HEALTHY
    return ComponentHealth(status=HealthStatus.DEGRADED, detail=detail)


def _issues(components: Mapping[str, ComponentHealth]) -> Iterator[str]:
    for name, component in components.items():
        if component.status is not HealthStatus.HEALTHY:
            yield f"{name}: {component.detail}"
