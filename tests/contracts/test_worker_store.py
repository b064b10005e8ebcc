from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contracts.steps import TENANT, WORKER, a_running_attempt
from tests.makers import START, a_success, a_worker
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import WorkerNotFound
from tocsin.ports.storage import Storage
from tocsin.ports.stores import Worker

SILENT = timedelta(seconds=30)


async def buried(storage: Storage) -> Sequence[Worker]:
    """Bury whoever is silent by what the registry says now."""
    seen = {(worker.id, worker.heartbeat_at) for worker in await storage.workers.list()}
    return await storage.workers.bury(seen=seen, silent_for=SILENT)


async def test_a_beat_registers_a_worker_at_the_stores_now(storage: Storage, clock: ManualClock) -> None:
    clock.advance(5)
    worker = a_worker()

    await storage.workers.beat(worker)

    assert list(await storage.workers.list()) == [replace(worker, heartbeat_at=clock.now())]


async def test_a_beat_refreshes_a_worker(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker())
    clock.advance(5)
    refreshed = a_worker(running=3, status="draining", capabilities=("http",), roles=("executor",), anomalies=2)

    await storage.workers.beat(refreshed)

    assert list(await storage.workers.list()) == [replace(refreshed, heartbeat_at=clock.now())]


async def test_a_worker_tells_at_each_beat_what_it_found(storage: Storage) -> None:
    found = await storage.workers.beat(a_worker(anomalies=3))

    assert found == a_worker(anomalies=3)
    assert await storage.workers.drain(WORKER, requested=False) == found
    assert list(await storage.workers.list()) == [found]

    await storage.workers.beat(a_worker())
    assert [worker.anomalies for worker in await storage.workers.list()] == [0]


async def test_a_worker_hears_at_its_next_beat_what_it_is_asked_to_do(storage: Storage) -> None:
    assert (await storage.workers.beat(a_worker())).drain_requested is False

    asked = await storage.workers.drain(WORKER, requested=True)

    assert asked == a_worker(drain_requested=True)
    assert [worker.drain_requested for worker in await storage.workers.list()] == [True]
    heard = await storage.workers.beat(a_worker(status="drained", drain_requested=False))
    assert heard == a_worker(status="drained", drain_requested=True)

    await storage.workers.drain(WORKER, requested=False)

    assert (await storage.workers.beat(a_worker())).drain_requested is False


async def test_a_worker_cannot_ask_itself_to_drain(storage: Storage) -> None:
    for _ in range(2):
        assert (await storage.workers.beat(a_worker(drain_requested=True))).drain_requested is False


async def test_asking_again_changes_nothing(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker())
    first = await storage.workers.drain(WORKER, requested=True)
    clock.advance(5)

    assert await storage.workers.drain(WORKER, requested=True) == first
    assert list(await storage.workers.list()) == [first]


async def test_only_the_worker_that_is_named_is_asked(storage: Storage) -> None:
    for name in ("node-1#a", "node-1#b"):
        await storage.workers.beat(a_worker(id=name))

    await storage.workers.drain("node-1#b", requested=True)

    asked = {worker.id: worker.drain_requested for worker in await storage.workers.list()}
    assert asked == {"node-1#a": False, "node-1#b": True}


@pytest.mark.parametrize("requested", [True, False])
async def test_an_unknown_worker_cannot_be_asked(storage: Storage, requested: bool) -> None:  # noqa: FBT001 - a parameter
    await storage.workers.beat(a_worker())

    with pytest.raises(WorkerNotFound, match="no worker node-1#gone"):
        await storage.workers.drain("node-1#gone", requested=requested)


async def test_a_worker_that_was_buried_is_still_asked_when_it_comes_back(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker(status="drained"))
    await storage.workers.drain(WORKER, requested=True)
    clock.advance(31)

    assert [(worker.status, worker.drain_requested) for worker in await buried(storage)] == [("dead", True)]
    assert (await storage.workers.beat(a_worker())).drain_requested is True


async def test_workers_are_listed_newest_heartbeat_first(storage: Storage, clock: ManualClock) -> None:
    for name in ("b", "c", "a"):
        await storage.workers.beat(a_worker(id=name))
        clock.advance(1)

    assert [worker.id for worker in await storage.workers.list()] == ["a", "c", "b"]


async def test_a_silent_worker_is_buried_once(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker(id="silent", anomalies=1))
    clock.advance(31)
    await storage.workers.beat(a_worker(id="loud"))

    dead = await buried(storage)

    assert [(worker.id, worker.status, worker.anomalies) for worker in dead] == [("silent", "dead", 1)]
    assert {worker.id: worker.status for worker in await storage.workers.list()} == {"silent": "dead", "loud": "live"}
    assert not await buried(storage)


async def test_a_beat_brings_a_buried_worker_back(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker())
    clock.advance(31)
    assert len(await buried(storage)) == 1

    await storage.workers.beat(a_worker(running=2))

    assert list(await storage.workers.list()) == [replace(a_worker(running=2), heartbeat_at=clock.now())]
    assert not await buried(storage)


async def test_a_worker_that_was_heard_of_since_it_was_seen_is_not_buried(storage: Storage, clock: ManualClock) -> None:
    for name in ("unseen", "heard"):
        await storage.workers.beat(a_worker(id=name))
    seen = [("heard", START)]
    clock.advance(1)
    await storage.workers.beat(a_worker(id="heard"))
    clock.advance(31)

    assert not await storage.workers.bury(seen=seen, silent_for=SILENT)
    assert not await storage.workers.bury(seen=[], silent_for=SILENT)

    assert {worker.status for worker in await storage.workers.list()} == {"live"}


@pytest.mark.parametrize("status", ["live", "draining", "drained"])
async def test_a_silent_worker_is_not_buried_while_it_holds_a_lease(
    storage: Storage, clock: ManualClock, status: str
) -> None:
    await storage.workers.beat(a_worker(status=status))
    attempt = await a_running_attempt(storage)
    clock.advance(3600)

    assert not await buried(storage)
    await storage.executions.cancel(TENANT, attempt.execution_id)
    assert not await buried(storage)
    await storage.ledger.release([(attempt.execution_id, 1)])

    assert [worker.id for worker in await buried(storage)] == [WORKER]


async def test_finished_work_keeps_nobody_from_being_buried(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker())
    attempt = await a_running_attempt(storage)
    await storage.ledger.finish([a_success(attempt)])
    clock.advance(31)

    assert len(await buried(storage)) == 1


async def test_stopped_workers_are_removed_and_dead_ones_after_a_day(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker(id="silent"))
    await storage.workers.beat(a_worker(id="stopped", status="stopped"))
    clock.advance(31)

    assert [worker.id for worker in await buried(storage)] == ["silent"]
    assert [worker.id for worker in await storage.workers.list()] == ["silent"]
    clock.advance(timedelta(hours=23))
    await buried(storage)
    assert [worker.id for worker in await storage.workers.list()] == ["silent"]
    clock.advance(timedelta(hours=2))
    assert not await buried(storage)
    assert not await storage.workers.list()


async def test_a_worker_found_silent_after_days_is_still_answered(storage: Storage, clock: ManualClock) -> None:
    await storage.workers.beat(a_worker())
    clock.advance(timedelta(days=3))

    [dead] = await buried(storage)

    assert (dead.id, dead.status, dead.heartbeat_at) == (WORKER, "dead", START)
    assert [worker.status for worker in await storage.workers.list()] == ["dead"]
