"""A node that is asked to drain, and to take work again, over a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.application.rig import Rig
from tests.end_to_end.waiting import until
from tests.makers import a_job, an_event_job
from tocsin.adapters.memory import InProcessDispatcher
from tocsin.adapters.sqlite import open_sqlite
from tocsin.application.changing import Wakers
from tocsin.application.health import STALE_ROUNDS_SECONDS, HealthCheck
from tocsin.application.node import Node
from tocsin.application.parts import Identity, Limits, Parts, Role
from tocsin.application.scheduler import Scheduler
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import ScheduledJob
from tocsin.ports.ledger import Ledger, Purged
from tocsin.ports.reports import HealthStatus
from tocsin.ports.storage import Storage


@dataclass(frozen=True, kw_only=True)
class Running:
    """A node whose loops run, and the scheduler of its process."""

    node: Node
    scheduler: Scheduler

    @property
    def id(self) -> str:
        return self.node.identity.worker_id

    async def reaches(self, status: str) -> None:
        """Wait until the registry has it so."""

        async def told() -> bool:
            return status in {worker.status for worker in await self.scheduler.list_workers() if worker.id == self.id}

        await until(told, every=0.01)

    async def ended(self, job: ScheduledJob, count: int = 1) -> None:
        """Wait until that many executions of a job have succeeded."""

        async def so_many() -> bool:
            found = (await self.scheduler.get_job_history(job.id)).items
            return [row.status for row in found].count(ExecutionStatus.SUCCESS) == count

        await until(so_many, every=0.01)


@dataclass(frozen=True, kw_only=True)
class Purger:
    """A ledger as retention uses it, that tells of each purge."""

    inner: Ledger
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def purge(self, **limits: Any) -> Purged:  # noqa: ANN401 - handed on as they are
        self.told.set()
        return await self.inner.purge(**limits)

    async def is_asked(self) -> None:
        """Wait until somebody purges from now on."""
        self.told.clear()
        await self.told.wait()


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """One store, and what the nodes on it can run."""

    rig: Rig
    storage: Storage
    purger: Purger

    @asynccontextmanager
    async def node(self, name: str) -> AsyncIterator[Running]:
        pipe = InProcessDispatcher()
        parts = Parts(
            storage=self.storage,
            dispatcher=pipe,
            handlers=self.rig.handlers,
            planning=self.rig.planning,
            auditor=self.rig.auditor,
            events=self.rig.events_on(self.storage, pipe),
            retention=replace(self.rig.retention, ledger=cast("Ledger", self.purger)),
            clock=self.rig.clock,
            telemetry=self.rig.notes,
        )
        identity = Identity(name=name, boot_id="b", version="1", roles=tuple(Role))
        node = Node(identity=identity, parts=parts, limits=Limits(drain_seconds=0, wake_seconds=0.1))
        scheduler = Scheduler(
            storage=self.storage,
            planning=parts.planning,
            auditor=parts.auditor,
            events=parts.events.events,
            dispatcher=parts.dispatcher,
            handlers=parts.handlers,
            health=HealthCheck(storage=self.storage, clock=parts.clock),
            telemetry=parts.telemetry,
            wakers=Wakers(registration=lambda: node.wake("registration")),
        )
        await node.start()
        try:
            yield Running(node=node, scheduler=scheduler)
        finally:
            await node.stop()


@pytest.fixture(params=["memory", "sqlite"])
async def cluster(request: pytest.FixtureRequest, rig: Rig, tmp_path: Path) -> AsyncIterator[Cluster]:
    if request.param == "memory":
        yield Cluster(rig=rig, storage=rig.storage, purger=Purger(inner=rig.storage.ledger))
        return
    async with open_sqlite(tmp_path / "tocsin.db", rig.clock) as storage:
        yield Cluster(rig=rig, storage=storage, purger=Purger(inner=storage.ledger))


async def test_a_node_that_drains_lets_its_work_finish_and_takes_no_more_until_it_is_resumed(cluster: Cluster) -> None:
    started, let_go = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        started.set()
        await let_go.wait()

    cluster.rig.handle("hold", hold)
    cluster.rig.handle("quick", lambda: None)
    held = await cluster.storage.jobs.add(an_event_job(handler_name="hold"))
    quick = await cluster.storage.jobs.add(an_event_job(handler_name="quick"))
    async with cluster.node("one") as one:
        running = await one.scheduler.trigger_job(held.id)
        await started.wait()

        asked = await one.scheduler.drain_worker(one.id)
        assert asked.drain_requested
        await one.reaches("draining")
        waiting = await one.scheduler.trigger_job(quick.id)
        cluster.rig.clock.advance(timedelta(seconds=45))
        let_go.set()
        await one.reaches("drained")

        finished = await one.scheduler.get_execution(running.id)
        assert (finished.status, finished.attempt) == (ExecutionStatus.SUCCESS, 1)
        assert (await one.scheduler.get_execution(waiting.id)).status is ExecutionStatus.PENDING
        assert not one.node.live

        assert not (await one.scheduler.resume_worker(one.id)).drain_requested
        await one.ended(quick)
        await one.reaches("live")
        assert one.node.live


async def test_what_a_drained_node_does_not_fire_another_does(cluster: Cluster) -> None:
    cluster.rig.handle("report", lambda: None)
    job = await cluster.storage.jobs.add(a_job(schedule="every 1m"))
    async with cluster.node("one") as one, cluster.node("two") as two:
        await two.scheduler.drain_worker(one.id)
        one.node.wake("registration")
        await one.reaches("drained")
        cluster.rig.clock.advance(60)

        await two.ended(job)

        [row] = (await two.scheduler.get_job_history(job.id)).items
        assert row.worker_id == two.id
        assert await two.scheduler.list_workers()


async def test_a_drained_node_that_is_alone_fires_nothing_until_it_is_resumed(cluster: Cluster) -> None:
    cluster.rig.handle("report", lambda: None)
    job = await cluster.storage.jobs.add(a_job(schedule="every 1m"))
    async with cluster.node("one") as one:
        await one.scheduler.drain_worker(one.id)
        await one.reaches("drained")
        cluster.rig.clock.advance(60)
        one.node.wake("timer")
        # Whatever the bell woke has its turn, and the store its answer.
        for _ in range(20):
            await one.node.register(one.node.status)
            await asyncio.sleep(0)

        assert (await one.scheduler.get_job_history(job.id)).total == 0

        await one.scheduler.resume_worker(one.id)
        await one.ended(job)


async def test_a_node_holds_its_locks_only_while_it_takes_work(cluster: Cluster) -> None:
    locks = cluster.storage.locks

    async def is_free() -> bool:
        token = await locks.acquire("retention", holder="test", lease=timedelta(hours=1))
        return token is not None and await locks.release(token)

    async with cluster.node("one") as one:
        await cluster.purger.is_asked()
        assert not await is_free()

        await one.scheduler.drain_worker(one.id)
        await one.reaches("drained")
        assert await is_free()

        await one.scheduler.resume_worker(one.id)
        await cluster.purger.is_asked()
        assert not await is_free()
    assert await is_free()


async def test_a_node_that_is_resumed_before_it_is_drained_goes_on(cluster: Cluster) -> None:
    started, let_go = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        started.set()
        await let_go.wait()

    cluster.rig.handle("hold", hold)
    cluster.rig.handle("quick", lambda: None)
    held = await cluster.storage.jobs.add(an_event_job(handler_name="hold"))
    quick = await cluster.storage.jobs.add(an_event_job(handler_name="quick"))
    async with cluster.node("one") as one:
        await one.scheduler.trigger_job(held.id)
        await started.wait()
        for _ in range(3):
            await one.scheduler.drain_worker(one.id)
            await one.reaches("draining")
            await one.scheduler.resume_worker(one.id)
            await one.reaches("live")
        await one.scheduler.trigger_job(quick.id)

        await one.ended(quick)
        let_go.set()
        await one.ended(held)


async def test_a_drained_node_stops_and_its_restart_takes_work(cluster: Cluster) -> None:
    async with cluster.node("one") as one:
        await one.scheduler.drain_worker(one.id)
        await one.reaches("drained")

    [stopped] = await cluster.storage.workers.list()
    assert (stopped.status, stopped.drain_requested) == ("stopped", True)


async def test_loops_that_rest_are_no_issue(cluster: Cluster) -> None:
    async with cluster.node("one") as one:
        health = HealthCheck(storage=cluster.storage, clock=cluster.rig.clock, pulses=one.node.pulses)
        await one.scheduler.drain_worker(one.id)
        await one.reaches("drained")
        cluster.rig.clock.advance(STALE_ROUNDS_SECONDS + 1)

        found = await health()

    for name in ("timer", "executor", "sweeper"):
        assert found.components[name].status is HealthStatus.HEALTHY
    assert found.components["workers"].detail == "no live node has the role timer or executor or sweeper"
