from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.application.rig import Rig
from tests.end_to_end.waiting import until
from tests.makers import START, a_job, decided, planner
from tocsin.application.auditing import Auditor
from tocsin.application.node import Node
from tocsin.application.parts import Identity, Parts, Role
from tocsin.application.singleton import Singleton
from tocsin.application.watch import INTERVAL_SECONDS, PAUSE_SECONDS, REMEMBERED, LedgerWatch
from tocsin.application.watch import LEASE as WATCH_LEASE
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.job import OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import delete
from tocsin.domain.plan import Plan
from tocsin.ports.reports import HealthStatus

MINUTE = 60.0


def a_watch(rig: Rig) -> LedgerWatch:
    return LedgerWatch(
        ledger=rig.ledger,
        jobs=rig.storage.jobs,
        outbox=rig.storage.outbox,
        auditor=rig.auditor,
        telemetry=rig.notes,
        page=2,
    )


@pytest.fixture
def watch(rig: Rig) -> LedgerWatch:
    rig.health.watch = watch = a_watch(rig)
    return watch


def a_singleton(rig: Rig, holder: str, watch: LedgerWatch) -> Singleton:
    """Have a watch go round as one node of many does."""
    return Singleton(
        agent=watch,
        locks=rig.storage.locks,
        clock=rig.clock,
        name="ledger",
        holder=holder,
        lease=WATCH_LEASE,
        lost=watch.forget,
    )


async def jobs(rig: Rig, count: int = 1, **fields: object) -> list[ScheduledJob]:
    return [await rig.storage.jobs.add(a_job(overlap_policy=OverlapPolicy.ALLOW_ALL, **fields)) for _ in range(count)]


async def fire(rig: Rig) -> None:
    rig.clock.advance(MINUTE)
    await rig.ledger.fire(planner, limit=100)


async def lose(rig: Rig) -> None:
    """Let every job go on past its nominal time without a record of it."""
    rig.clock.advance(MINUTE)
    await rig.ledger.fire(lambda job, now: replace(planner(job, now), executions=()), limit=100)


async def look(watch: LedgerWatch) -> int:
    """Look through all jobs once; answer in how many pages."""
    pages = 1
    while await watch.run_once() == PAUSE_SECONDS:
        pages += 1
    return pages


async def test_sound_ledgers_raise_no_alarm_however_often_they_are_looked_at(rig: Rig, watch: LedgerWatch) -> None:
    await jobs(rig, 5)

    for _ in range(6):
        await fire(rig)
        assert await look(watch) == 3

    assert (watch.anomalies, rig.notes.lines) == ([], [])
    assert (await rig.health()).components["ledger"].status is HealthStatus.HEALTHY


async def test_the_next_look_is_due_in_a_minute(watch: LedgerWatch) -> None:
    assert await watch.run_once() == INTERVAL_SECONDS


async def test_what_two_looks_find_is_told_of_once_and_degrades_health(rig: Rig, watch: LedgerWatch) -> None:
    sound, lost = await jobs(rig), await jobs(rig, tenant_id="acme")
    await fire(rig)

    def losing(job: ScheduledJob, now: datetime) -> Plan:
        plan = planner(job, now)
        return replace(plan, executions=()) if job.id == lost[0].id else plan

    rig.clock.advance(MINUTE)
    await rig.ledger.fire(losing, limit=9)
    await fire(rig)
    await look(watch)
    assert watch.anomalies == []
    assert (await rig.health()).components["ledger"].status is HealthStatus.HEALTHY

    for _ in range(4):
        await fire(rig)
        await look(watch)

    [told] = rig.notes.of("ledger.anomaly")
    assert (told["job_id"], told["tenant_id"], told["kind"]) == (str(lost[0].id), "acme", "missing")
    assert (told["nominal"], told["nominal_times"]) == ("2026-01-01T00:02:00+00:00", 1)
    health = await rig.health()
    assert health.components["ledger"].status is HealthStatus.DEGRADED
    expected = f"ledger: 1 finding, first: missing at 2026-01-01T00:02:00+00:00 of job {lost[0].id}"
    assert expected in health.issues
    assert sound[0].id not in {anomaly.job_id for anomaly in watch.anomalies}


async def test_what_is_lost_at_any_time_of_a_look_is_found(rig: Rig, watch: LedgerWatch) -> None:
    await jobs(rig, 3)
    for minute in range(8):
        await (lose(rig) if minute == 3 else fire(rig))
        await look(watch)

    assert {anomaly.finding.first for anomaly in watch.anomalies} == {START + timedelta(minutes=4)}
    assert len(watch.anomalies) == 3


async def test_a_job_that_was_deleted_meanwhile_is_looked_at_once_more(rig: Rig, watch: LedgerWatch) -> None:
    [job] = await jobs(rig)
    await look(watch)
    await lose(rig)
    await rig.storage.jobs.change(job.tenant_id, job.id, decided(delete))
    rig.clock.advance(10)
    await look(watch)
    rig.clock.advance(10)
    await look(watch)

    assert [anomaly.job_id for anomaly in watch.anomalies] == [job.id]


async def test_an_anomaly_is_remembered_for_a_day(rig: Rig, watch: LedgerWatch) -> None:
    [job] = await jobs(rig)
    await lose(rig)
    rig.clock.advance(10)
    for _ in range(2):
        await look(watch)
    await rig.storage.jobs.change(job.tenant_id, job.id, decided(delete))
    assert len(watch.anomalies) == 1

    rig.clock.advance(REMEMBERED)
    await look(watch)

    assert watch.anomalies == []


async def test_what_was_found_goes_with_the_lock(rig: Rig) -> None:
    watches = {name: a_watch(rig) for name in ("heir", "holder")}
    nodes = {name: a_singleton(rig, name, watch) for name, watch in watches.items()}

    async def found(name: str) -> dict[str, int]:
        """Let a node have its turn; answer what each has found then."""
        while await nodes[name].run_once() == PAUSE_SECONDS:
            pass
        return {name: len(watch.anomalies) for name, watch in watches.items()}

    await jobs(rig)
    await lose(rig)
    rig.clock.advance(10)
    await found("holder")
    assert await found("holder") == {"heir": 0, "holder": 1}
    assert await found("heir") == {"heir": 0, "holder": 1}

    await nodes["holder"].hand_over()
    assert await found("heir") == {"heir": 0, "holder": 0}
    assert await found("heir") == {"heir": 1, "holder": 0}

    # The heir falls silent, and the first one takes over and begins anew.
    rig.clock.advance(WATCH_LEASE)
    assert await found("holder") == {"heir": 1, "holder": 0}
    assert await found("holder") == {"heir": 1, "holder": 1}
    assert await found("heir") == {"heir": 0, "holder": 1}


async def test_a_node_tells_at_its_heartbeat_what_it_found_until_it_drains(rig: Rig) -> None:
    parts = Parts(
        storage=rig.storage,
        dispatcher=rig.pipe,
        handlers=rig.handlers,
        planning=rig.planning,
        auditor=rig.auditor,
        events=rig.events,
        retention=rig.retention,
        clock=rig.clock,
        telemetry=rig.notes,
    )
    node = Node(identity=Identity(name="vm", boot_id="1", version="1", roles=(Role.SWEEPER,)), parts=parts)

    async def has_found() -> bool:
        node.wake("ledger")
        return node.watch is not None and bool(node.watch.anomalies)

    await jobs(rig)
    await lose(rig)
    rig.clock.advance(10)
    await node.start()
    await until(has_found, every=0.01)

    assert (await node.register(node.status)).anomalies == 1
    assert "ledger: 1 anomaly in the ledger; the log of node vm#1 tells it" in (await rig.health()).issues

    await node.follow(drain=True)
    assert (await node.register(node.status)).anomalies == 0
    assert (await rig.health()).components["ledger"].status is HealthStatus.HEALTHY
    await node.stop()


async def test_a_timer_that_is_behind_is_no_anomaly(rig: Rig, watch: LedgerWatch) -> None:
    await jobs(rig)
    for _ in range(5):
        rig.clock.advance(600)
        await look(watch)

    assert watch.anomalies == []


async def test_a_clock_that_is_set_back_is_no_anomaly(rig: Rig, watch: LedgerWatch) -> None:
    await jobs(rig)
    for seconds in (60, 60, 3600, -3600, 60, 60, -120, 60):
        rig.clock.jump_wall(seconds)
        await rig.ledger.fire(planner, limit=1)
        await look(watch)
        await look(watch)

    assert watch.anomalies == []


async def test_a_job_that_cannot_be_verified_keeps_no_other_from_it(
    rig: Rig, watch: LedgerWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, lost = await jobs(rig, 2)
    check = Auditor.check

    def failing(auditor, ledger, window, now):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as `check`
        if ledger.job.id == broken.id:
            raise ArithmeticError
        return check(auditor, ledger, window, now)

    monkeypatch.setattr(Auditor, "check", failing)
    await lose(rig)
    rig.clock.advance(10)
    for _ in range(2):
        await look(watch)

    assert [anomaly.job_id for anomaly in watch.anomalies] == [lost.id]
    assert {fields["job_id"] for fields in rig.notes.of("ledger.unverifiable")} == {str(broken.id)}


async def test_a_look_goes_on_where_the_store_failed(rig: Rig, watch: LedgerWatch) -> None:
    await jobs(rig, 3)
    await watch.run_once()
    rig.ledger.down = {"recent_ledgers", "recent_jobs"}
    with pytest.raises(StoreUnavailable):
        await watch.run_once()
    rig.ledger.down = set()

    assert await look(watch) == 1


@pytest.mark.parametrize("place", range(5))
async def test_a_ledger_that_cannot_be_read_hides_no_other(rig: Rig, place: int) -> None:
    watch = replace(a_watch(rig), page=4)
    every = sorted(job.id for job in await jobs(rig, 5))
    rig.ledger.damaged = {every[place]}
    await lose(rig)
    rig.clock.advance(10)

    for _ in range(2):
        await look(watch)

    assert sorted(anomaly.job_id for anomaly in watch.anomalies) == [each for each in every if each != every[place]]
    told = rig.notes.of("ledger.unverifiable")
    assert [fields["job_id"] for fields in told] == [str(every[place])] * 2
    assert told[0]["error"] == "ValueError: this is no document"


async def test_pages_grow_again_behind_a_ledger_that_cannot_be_read(rig: Rig) -> None:
    watch = replace(a_watch(rig), page=4)
    every = sorted(job.id for job in await jobs(rig, 20))
    rig.ledger.damaged = {every[0]}

    # Of four, of two and of one, which is passed over; then of one, two, four, four, four and four.
    assert await look(watch) == 9
    rig.ledger.damaged = set()
    assert await look(watch) == 5


async def test_when_no_ledger_can_be_read_each_is_told_of_and_a_look_ends(rig: Rig, watch: LedgerWatch) -> None:
    every = sorted(job.id for job in await jobs(rig, 3))
    rig.ledger.down = {"recent_ledgers"}

    await look(watch)

    assert [fields["job_id"] for fields in rig.notes.of("ledger.unverifiable")] == [str(job_id) for job_id in every]
