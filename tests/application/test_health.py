from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from tests.application.rig import Rig
from tests.makers import a_job, a_worker
from tocsin.application.health import LATE_SECONDS, STALE_ROUNDS_SECONDS, worst
from tocsin.application.loop import Pulse
from tocsin.domain.errors import StoreUnavailable
from tocsin.ports.reports import HealthStatus
from tocsin.ports.stores import UNCLAIMED_AFTER, ExecutionStore, QueueFigures


@dataclass
class BrokenQueue:
    """Executions of which nothing can be counted."""

    inner: ExecutionStore
    fail: Callable[[], object]

    async def queue(self, tenant_id: str | None) -> QueueFigures:
        self.fail()
        return await self.inner.queue(tenant_id)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def break_store(rig: Rig, error: Exception) -> None:
    def fail() -> None:
        raise error

    broken = BrokenQueue(rig.storage.executions, fail)
    rig.health.storage = replace(rig.storage, executions=broken)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
async def _a_live_worker(rig: Rig) -> None:
    await rig.storage.workers.beat(a_worker())


async def test_nobody_to_fire_or_run_degrades_the_node(rig: Rig) -> None:
    await rig.storage.workers.beat(a_worker(roles=("executor",)))

    health = await rig.health()

    assert health.issues == ["workers: no live node has the role timer or sweeper"]
    assert health.status is HealthStatus.DEGRADED


async def test_a_node_with_nothing_wrong_is_healthy(rig: Rig) -> None:
    rig.health.pulses = [Pulse("timer", 0.0)]
    rig.clock.advance(STALE_ROUNDS_SECONDS)

    health = await rig.health()

    assert (health.status, health.issues) == (HealthStatus.HEALTHY, [])
    assert sorted(health.components) == ["handlers", "queue", "store", "timer", "workers"]
    assert (health.timestamp, health.uptime_seconds) == (rig.clock.now(), STALE_ROUNDS_SECONDS)


@pytest.mark.parametrize(
    ("error", "issue"),
    [
        (StoreUnavailable("no answer within 5 s"), "store: no answer within 5 s"),
        (TimeoutError(), "store: no answer within 5 s"),
        (RuntimeError("password=hunter2"), "store: unexpected RuntimeError"),
    ],
)
async def test_a_node_without_its_store_is_unhealthy(rig: Rig, error: Exception, issue: str) -> None:
    break_store(rig, error)

    health = await rig.health()

    assert (health.status, health.issues) == (HealthStatus.UNHEALTHY, [issue])


async def test_a_loop_whose_latest_round_failed_degrades_the_node(rig: Rig) -> None:
    rig.health.pulses = [Pulse("timer", 0.0), Pulse("sweeper", 0.0, error="no answer")]

    health = await rig.health()

    assert (health.status, health.issues) == (HealthStatus.DEGRADED, ["sweeper: no answer"])


async def test_a_loop_that_completes_no_round_makes_the_node_unhealthy(rig: Rig) -> None:
    rig.health.pulses = [Pulse("timer", 0.0), Pulse("sweeper", 0.0, error="no answer")]
    rig.clock.advance(STALE_ROUNDS_SECONDS + 1)

    health = await rig.health()

    assert health.status is HealthStatus.UNHEALTHY
    assert health.issues == [
        "timer: no round completed for 31 s; last error: none",
        "sweeper: no round completed for 31 s; last error: no answer",
    ]


async def test_a_job_that_nobody_fires_degrades_the_node(rig: Rig) -> None:
    await rig.storage.jobs.add(a_job(schedule="every 1m"))
    rig.clock.advance(60 + LATE_SECONDS)
    await rig.storage.workers.beat(a_worker())
    assert (await rig.health()).status is HealthStatus.HEALTHY

    rig.clock.advance(1)

    assert (await rig.health()).issues == ["queue: a job has been due for 61 s without being fired"]


async def test_an_execution_that_nobody_starts_degrades_the_node(rig: Rig) -> None:
    await rig.trigger(await rig.a_job(lambda: None))
    rig.clock.advance(LATE_SECONDS + 1)
    await rig.storage.workers.beat(a_worker(capabilities=("function/work-0",)))

    assert (await rig.health()).issues == ["queue: an execution has been ready for 61 s without being started"]


async def test_work_that_no_live_node_can_run_degrades_the_node(rig: Rig) -> None:
    job = await rig.a_job(lambda: None, concurrency=3)
    for _ in range(3):
        await rig.trigger(job)
    rig.clock.advance(UNCLAIMED_AFTER)
    await rig.storage.workers.beat(a_worker())
    for gone in ("drained", "draining", "dead"):
        await rig.storage.workers.beat(a_worker(id=gone, status=gone, capabilities=("function/work-0",)))
    assert (await rig.health()).status is HealthStatus.HEALTHY

    rig.clock.advance(1)
    health = await rig.health()

    assert health.components["workers"].status is HealthStatus.DEGRADED
    assert "workers: 3 executions wait for function/work-0, which no live node has" in health.issues


async def test_of_many_things_that_nobody_can_run_the_first_are_named(rig: Rig) -> None:
    for _ in range(12):
        await rig.trigger(await rig.a_job(lambda: None))
    rig.clock.advance(UNCLAIMED_AFTER + timedelta(seconds=1))
    await rig.storage.workers.beat(a_worker())

    detail = (await rig.health()).components["workers"].detail or ""

    first, *_, last = detail.split("; ")
    assert first == "1 execution waits for function/work-0, which no live node has"
    assert last == "and so do those for 2 more"


async def test_a_loop_that_rests_ages_nobody(rig: Rig) -> None:
    rig.health.pulses = [Pulse("timer", 0.0, error="no answer", resting=True)]
    rig.clock.advance(STALE_ROUNDS_SECONDS + 1)

    assert (await rig.health()).components["timer"].status is HealthStatus.HEALTHY


@pytest.mark.parametrize("status", ["draining", "drained", "stopped", "dead"])
async def test_only_live_nodes_have_a_role(rig: Rig, status: str) -> None:
    await rig.storage.workers.beat(a_worker(status=status))

    assert "workers: no live node has the role timer or executor or sweeper" in (await rig.health()).issues


async def test_a_node_that_runs_no_handlers_is_not_asked_about_them(rig: Rig) -> None:
    rig.health.executor = None

    assert "handlers" not in (await rig.health()).components


async def test_a_handler_that_does_its_work_is_no_issue(rig: Rig) -> None:
    await rig.start(asyncio.Event().wait)

    assert (await rig.health()).status is HealthStatus.HEALTHY


def test_the_worst_part_decides() -> None:
    good, fair, bad = HealthStatus.HEALTHY, HealthStatus.DEGRADED, HealthStatus.UNHEALTHY

    assert worst([]) is good
    assert worst([good, fair, good]) is fair
    assert worst([bad, fair, good]) is bad
