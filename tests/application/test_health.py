from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from tests.application.rig import Rig
from tests.makers import a_job, a_worker
from tocsin.application.health import LATE_SECONDS, STALE_ROUNDS_SECONDS, worst
from tocsin.application.loop import Pulse
from tocsin.domain.errors import StoreUnavailable
from tocsin.ports.reports import HealthStatus
from tocsin.ports.stores import UNCLAIMED_AFTER


@dataclass(frozen=True)
class Broken:
    """A part of a store of which one question gets no answer."""

    inner: object
    question: str
    error: BaseException | None

    def __getattr__(self, name: str) -> object:
        return self._fail if name == self.question else getattr(self.inner, name)

    async def _fail(self, *_: object) -> None:
        if self.error is None:
            await asyncio.Event().wait()
        else:
            raise self.error


def break_store(rig: Rig, error: BaseException | None) -> None:
    """Have nothing answered at all; with None for ever."""
    jobs = Broken(rig.storage.jobs, "now", error)
    executions = Broken(rig.storage.executions, "queue", error)
    rig.health.storage = replace(rig.storage, jobs=jobs, executions=executions)  # type: ignore[arg-type]


def break_figures(rig: Rig, error: BaseException | None) -> None:
    """Have what waits not counted; with None for ever."""
    executions = Broken(rig.storage.executions, "queue", error)
    rig.health.storage = replace(rig.storage, executions=executions)  # type: ignore[arg-type]


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
    assert sorted(health.components) == ["handlers", "ledger", "queue", "store", "timer", "workers"]
    assert (health.timestamp, health.uptime_seconds) == (rig.clock.now(), STALE_ROUNDS_SECONDS)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.application.health.STORE_DEADLINE", 0.01)


NO_ANSWERS = [
    (StoreUnavailable("the server is gone"), "the server is gone"),
    (None, "no answer within 0 s"),
    (RuntimeError("password=hunter2"), "unexpected RuntimeError"),
]


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(("error", "reason"), NO_ANSWERS)
async def test_a_node_without_its_store_is_unhealthy(rig: Rig, error: Exception | None, reason: str) -> None:
    break_store(rig, error)

    health = await rig.health()

    assert (health.status, health.issues) == (HealthStatus.UNHEALTHY, [f"store: {reason}"])


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(("error", "reason"), NO_ANSWERS)
async def test_a_store_that_cannot_count_what_waits_is_not_broken(
    rig: Rig, error: Exception | None, reason: str
) -> None:
    break_figures(rig, error)

    health = await rig.health()

    assert (health.status, health.issues) == (HealthStatus.DEGRADED, [f"queue: not counted: {reason}"])
    assert health.components["workers"].status is HealthStatus.HEALTHY


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


async def test_a_loop_that_may_wait_for_long_is_given_twice_that_time(rig: Rig) -> None:
    rig.health.pulses = [Pulse("retention", 0.0, cap=3600)]
    rig.clock.advance(STALE_ROUNDS_SECONDS + 7200)
    await rig.storage.workers.beat(a_worker())
    assert (await rig.health()).status is HealthStatus.HEALTHY

    rig.clock.advance(1)

    assert (await rig.health()).issues == ["retention: no round completed for 7231 s; last error: none"]


async def test_a_watch_that_does_not_go_round_is_told_of_beside_what_another_found(rig: Rig) -> None:
    await rig.storage.workers.beat(a_worker(anomalies=1))
    rig.health.pulses = [Pulse("ledger", 0.0, error="no answer", cap=60)]

    component = (await rig.health()).components["ledger"]

    assert component.status is HealthStatus.DEGRADED
    assert component.detail == "1 anomaly in the ledger; the log of node node-1/boot-1 tells it; no answer"


async def test_what_live_nodes_found_in_the_ledger_degrades_every_node(rig: Rig) -> None:
    for name, found in {"vm#1": 2, "vm#2": 0, "vm#3": 1}.items():
        await rig.storage.workers.beat(a_worker(id=name, anomalies=found))
    await rig.storage.workers.beat(a_worker(id="vm#4", anomalies=7, status="drained"))

    assert (await rig.health()).issues == [
        "ledger: 3 anomalies in the ledger; the log of node vm#1 and node vm#3 tells them"
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
