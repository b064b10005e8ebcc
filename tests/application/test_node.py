from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from threading import Event

import pytest

from tests.application.rig import Rig
from tests.makers import a_job
from tocsin.application.node import Node
from tocsin.application.parts import Identity, Limits, Parts, Role
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.stores import Worker, WorkerStore


class Register:
    """A registry of workers that keeps what it was told, in order (`ports.stores.WorkerStore`)."""

    def __init__(self, inner: WorkerStore) -> None:
        self._inner = inner
        self.told: list[Worker] = []
        self.down = False

    async def beat(self, worker: Worker) -> Worker:
        if self.down:
            raise StoreUnavailable("the registry is gone")
        self.told.append(worker)
        return await self._inner.beat(worker)

    async def drain(self, worker_id: str, *, requested: bool) -> Worker:
        return await self._inner.drain(worker_id, requested=requested)

    async def list(self) -> Sequence[Worker]:
        return await self._inner.list()

    async def bury(self, **limits: object) -> Sequence[Worker]:
        return await self._inner.bury(**limits)  # type: ignore[arg-type]


def a_node(rig: Rig, *roles: Role, drain_seconds: float = 3600, boot_id: str = "b") -> tuple[Node, Register]:
    register = Register(rig.storage.workers)
    parts = Parts(
        storage=replace(rig.storage, workers=register),
        dispatcher=rig.pipe,
        handlers=rig.handlers,
        planning=rig.planning,
        auditor=rig.auditor,
        events=rig.events,
        retention=rig.retention,
        clock=rig.clock,
        telemetry=rig.notes,
    )
    identity = Identity(name="node", boot_id=boot_id, version="1.2.3", roles=roles or tuple(Role))
    return Node(identity=identity, parts=parts, limits=Limits(capacity=7, drain_seconds=drain_seconds)), register


async def test_a_node_is_live_then_draining_then_stopped(rig: Rig) -> None:
    rig.handle("report", lambda: None)
    node, register = a_node(rig)
    await node.start()
    await node.stop()

    statuses = [worker.status for worker in register.told]
    assert list(dict.fromkeys(statuses)) == ["live", "draining", "stopped"]
    first = register.told[0]
    assert (first.id, first.name, first.version, first.capacity) == ("node#b", "node", "1.2.3", 7)
    assert "function/report" in first.capabilities
    assert [worker.status for worker in await rig.storage.workers.list()] == ["stopped"]
    assert not node.live


async def test_a_restart_is_another_worker(rig: Rig) -> None:
    for boot_id in ("a", "b"):
        node, _ = a_node(rig, boot_id=boot_id)
        await node.start()
        await node.stop()

    assert {worker.id for worker in await rig.storage.workers.list()} <= {"node#a", "node#b"}
    assert "node#b" in {worker.id for worker in await rig.storage.workers.list()}


@pytest.mark.parametrize(
    ("roles", "loops"),
    [
        ((Role.API,), []),
        ((Role.TIMER,), ["gatherer", "registration", "relay", "timer"]),
        ((Role.EXECUTOR,), ["executor", "fence", "finisher", "heartbeat", "registration"]),
        ((Role.SWEEPER,), ["backlog", "event retention", "ledger", "registration", "retention", "sweeper"]),
    ],
)
async def test_a_node_runs_the_loops_of_its_roles(rig: Rig, roles: tuple[Role, ...], loops: list[str]) -> None:
    node, register = a_node(rig, *roles)
    await node.start()
    await node.stop()

    assert rig.notes.of("node.started") == [{"worker_id": "node#b", "loops": loops}]
    assert bool(register.told) == bool(loops)


async def test_a_due_job_fires_and_runs_by_itself(rig: Rig) -> None:
    ran = asyncio.Event()

    async def work() -> None:
        ran.set()

    rig.handle("report", work)
    job = await rig.storage.jobs.add(a_job(schedule="every 1m"))
    node, _ = a_node(rig)
    await node.start()
    rig.clock.advance(60)
    node.wake("timer")
    node.wake("a loop that it does not have")

    await ran.wait()
    await node.stop()

    [row] = await rig.history(job)
    assert row.status is ExecutionStatus.SUCCESS


async def stopped_once(rig: Rig, started: asyncio.Event, *, drain_seconds: float = 0) -> Register:
    """Start a node, and stop it once a handler has started."""
    node, register = a_node(rig, drain_seconds=drain_seconds)
    await node.start()
    await started.wait()
    await node.stop()
    return register


async def test_a_node_that_stops_hands_its_work_back(rig: Rig) -> None:
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    execution_id = await rig.trigger(await rig.a_job(work, max_retries=0))

    register = await stopped_once(rig, started)

    row = await rig.execution(execution_id)
    assert (row.status, row.failures) == (ExecutionStatus.PENDING, 0)
    draining = next(worker for worker in register.told if worker.status == "draining")
    assert draining.running == 1


async def test_a_node_stops_though_the_store_is_gone(rig: Rig) -> None:
    started = asyncio.Event()

    async def work() -> None:
        rig.ledger.everything_down()
        started.set()
        await asyncio.Event().wait()

    await rig.trigger(await rig.a_job(work))

    await stopped_once(rig, started)

    assert rig.notes.of("node.undrained") == [{"unwritten": 1, "error": "finish did not get through"}]
    assert len(rig.notes.of("node.stopped")) == 1


async def test_a_node_stops_though_the_registry_is_gone(rig: Rig) -> None:
    node, register = a_node(rig)
    await node.start()
    register.down = True

    await node.stop()

    assert [fields["status"] for fields in rig.notes.of("node.unregistered")] == ["draining", "stopped"]


async def test_a_second_stop_and_a_stop_before_the_start_do_no_harm(rig: Rig) -> None:
    node, register = a_node(rig)
    await node.stop()
    assert register.told == []

    node, _ = a_node(rig)
    await node.start()
    await node.stop()
    await node.stop()


async def test_a_stubborn_thread_does_not_keep_a_node_from_stopping(rig: Rig) -> None:
    let_go = Event()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        let_go.wait()

    execution_id = await rig.trigger(await rig.a_job(work, timeout_ms=5, max_retries=0))

    await stopped_once(rig, started, drain_seconds=3600)

    assert (await rig.execution(execution_id)).status is ExecutionStatus.TIMEOUT
    let_go.set()


async def test_every_loop_has_a_pulse_to_watch_with_the_longest_wait_between_its_rounds(rig: Rig) -> None:
    node, _ = a_node(rig)

    assert {pulse.name: pulse.cap for pulse in node.pulses} == {
        "backlog": 15,
        "executor": 0,
        "event retention": 60,
        "fence": 0.5,
        "finisher": 1,
        "gatherer": 1,
        "heartbeat": 1,
        "ledger": 60,
        "registration": 5,
        "relay": 0.5,
        "retention": 3600,
        "sweeper": 1,
        "timer": 1,
    }


async def test_loops_that_a_handler_cancels_go_on(rig: Rig) -> None:
    cancelled, ran = asyncio.Event(), asyncio.Event()

    async def cancel_everything() -> None:
        for task in asyncio.all_tasks():
            if task.get_name().startswith("tocsin "):
                task.cancel()
        cancelled.set()

    async def work() -> None:
        ran.set()

    hostile, sound = await rig.a_job(cancel_everything, max_retries=0), await rig.a_job(work)
    node, _ = a_node(rig)
    first = await rig.trigger(hostile)
    await node.start()
    await cancelled.wait()
    second = await rig.trigger(sound)
    await ran.wait()
    await node.stop()

    assert {fields["loop"] for fields in rig.notes.of("loop.ended")} >= {"timer", "executor", "heartbeat", "finisher"}
    assert {fields["reason"] for fields in rig.notes.of("loop.ended")} == {"cancelled"}
    assert [(await rig.execution(each)).status for each in (first, second)] == [ExecutionStatus.SUCCESS] * 2


async def test_a_node_is_live_between_its_start_and_its_stop(rig: Rig) -> None:
    node, _ = a_node(rig)
    told = [node.live]
    await node.start()
    told.append(node.live)
    await node.stop()

    assert [*told, node.live] == [False, True, False]
