from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.application.rig import Rig
from tests.makers import START, a_job, decided, planner
from tocsin.application.auditing import Auditor
from tocsin.application.watch import INTERVAL_SECONDS, PAUSE_SECONDS, REMEMBERED, LedgerWatch
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.job import OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import delete
from tocsin.domain.plan import Plan
from tocsin.ports.reports import HealthStatus

MINUTE = 60.0


@pytest.fixture
def watch(rig: Rig) -> LedgerWatch:
    watch = LedgerWatch(
        ledger=rig.ledger,
        jobs=rig.storage.jobs,
        auditor=Auditor(planning=rig.planning),
        telemetry=rig.notes,
        page=2,
    )
    rig.health.watch = watch
    return watch


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
    rig.ledger.down = {"recent_ledgers"}
    with pytest.raises(StoreUnavailable):
        await watch.run_once()
    rig.ledger.down = set()

    assert await look(watch) == 1
