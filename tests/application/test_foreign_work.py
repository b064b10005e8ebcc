from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.application.rig import GRACE, Notes
from tests.makers import an_event_job, triggered
from tocsin.adapters.memory import InProcessDispatcher
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.application.sweeper import Sweeper
from tocsin.domain.attempt import hand_back
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.ports.dispatcher import Dispatch
from tocsin.ports.storage import Storage

CAPABILITIES = ("function/a", "function/b")


class Process:
    """The dispatcher and the sweeper of one process that can run some things and not others."""

    def __init__(self, storage: Storage, clock: ManualClock, *capabilities: str) -> None:
        self.runs = frozenset(capabilities)
        self.pipe = InProcessDispatcher(capabilities=lambda: self.runs, monotonic=clock.monotonic)
        self.sweeper = Sweeper(
            ledger=storage.ledger,
            workers=storage.workers,
            outbox=storage.outbox,
            dispatcher=self.pipe,
            clock=clock,
            telemetry=Notes(),
            capabilities=lambda: self.runs,
            grace=GRACE,
        )

    async def received(self) -> list[Dispatch]:
        """Take whatever lies in the pipe, for whomever."""
        return [*await self.pipe.receive(capabilities=CAPABILITIES, limit=100, wait=0)]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def storage(clock: ManualClock, tmp_path: Path) -> AsyncIterator[Storage]:
    async with open_sqlite(tmp_path / "tocsin.db", clock) as opened:
        yield opened


async def test_each_of_two_processes_on_one_file_gets_its_own_within_a_grace_and_a_sweep(
    storage: Storage, clock: ManualClock
) -> None:
    processes = [Process(storage, clock, capability) for capability in CAPABILITIES]
    for name in ("a", "b"):
        job = await storage.jobs.add(an_event_job(handler_name=name, concurrency=9))
        for firing in processes:
            changed = await storage.jobs.change(DEFAULT_TENANT, job.id, triggered())
            await firing.pipe.dispatch(changed.dispatches)

    for _ in range(2):
        clock.advance(1)
        for process in processes:
            await process.sweeper.run_once()

    for process in processes:
        received = await process.received()
        assert {dispatch.capability for dispatch in received} == process.runs
        assert len({dispatch.execution_id for dispatch in received}) == 2


async def test_work_that_became_available_reaches_the_node_that_can_run_it_though_another_marked_it(
    storage: Storage, clock: ManualClock
) -> None:
    other, able = Process(storage, clock, "function/b"), Process(storage, clock, "function/a")
    job = await storage.jobs.add(an_event_job(handler_name="a"))
    changed = await storage.jobs.change(DEFAULT_TENANT, job.id, triggered())
    [attempt] = await storage.ledger.claim([changed.dispatches[0].execution_id], worker_id="node-1#a")
    await storage.ledger.finish([hand_back(attempt, clock.now() + GRACE)])
    clock.advance(1)
    await other.sweeper.run_once()
    assert await able.received() == []

    for _ in range(2):
        clock.advance(1)
        await other.sweeper.run_once()
        await able.sweeper.run_once()

    assert [dispatch.execution_id for dispatch in await able.received()] == [attempt.execution_id]


async def test_nodes_that_cannot_run_it_never_take_a_dispatch_from_the_one_that_can(
    storage: Storage, clock: ManualClock
) -> None:
    others = [Process(storage, clock, "function/b") for _ in range(6)]
    able = Process(storage, clock, "function/a")
    job = await storage.jobs.add(an_event_job(handler_name="a"))
    await storage.jobs.change(DEFAULT_TENANT, job.id, triggered())
    clock.advance(1)

    for process in (*others, able):
        await process.sweeper.run_once()

    assert len(await able.received()) == 1
