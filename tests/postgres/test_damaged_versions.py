from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.application.rig import Notes
from tests.contracts.steps import TENANT, versions_of
from tests.makers import a_job, decided, planner
from tocsin.adapters.calendar import CroniterCalendar
from tocsin.adapters.system import ManualClock, Uuid7Sequence
from tocsin.application.auditing import Auditor
from tocsin.application.planning import Planning
from tocsin.application.watch import PAUSE_SECONDS, LedgerWatch
from tocsin.domain.history import read_history
from tocsin.domain.job import OverlapPolicy
from tocsin.domain.lifecycle import pause, resume
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger


@pytest.mark.parametrize(
    "text",
    [
        r'{"definition": {"name": "\u0000"}, "status": "active", "deleted": false}',
        r'{"definition": {"metadata": 1e200000}, "status": "active", "deleted": false}',
    ],
    ids=["text that none can be", "number that none can be"],
)
async def test_a_version_that_cannot_be_read_hides_no_anomaly_of_other_jobs(
    storage: Storage, clock: ManualClock, stranger: Stranger, text: str
) -> None:
    notes = Notes()
    auditor = Auditor(planning=Planning(CroniterCalendar(), Uuid7Sequence(), notes))
    watch = LedgerWatch(
        ledger=storage.ledger, jobs=storage.jobs, outbox=storage.outbox, auditor=auditor, telemetry=notes
    )
    damaged, *sound = [await storage.jobs.add(a_job(overlap_policy=OverlapPolicy.ALLOW_ALL)) for _ in range(3)]
    clock.advance(60)
    await storage.ledger.fire(lambda job, now: replace(planner(job, now), executions=()), limit=10)
    await stranger.execute("UPDATE job_versions SET after = $1 WHERE job_id = $2", text, damaged.id)
    clock.advance(10)

    for _ in range(2):
        while await watch.run_once() == PAUSE_SECONDS:
            pass

    assert {anomaly.job_id for anomaly in watch.anomalies} == {job.id for job in sound}
    assert {fields["job_id"] for fields in notes.of("ledger.unverifiable")} == {str(damaged.id)}


@pytest.mark.parametrize("definition", ['"text"', "null"])
async def test_a_definition_that_is_no_object_hides_no_version_that_goes_by_it(
    storage: Storage, clock: ManualClock, stranger: Stranger, definition: str
) -> None:
    job = await storage.jobs.add(a_job())
    for step in (pause, resume):
        clock.advance(1)
        await storage.jobs.change(TENANT, job.id, decided(step))
    damaged = f'{{"definition": {definition}, "status": "active", "deleted": false}}'
    await stranger.execute("UPDATE job_versions SET after = $1 WHERE version = 1", damaged)
    clock.advance(1)

    [ledger] = (await storage.ledger.recent_ledgers(since=clock.now(), limit=10)).ledgers

    assert [change.version for change in ledger.versions] == [3]
    assert read_history(ledger.job, ledger.versions).breaks


async def test_a_version_between_that_holds_nothing_takes_no_definition_from_those_after_it(
    storage: Storage, stranger: Stranger
) -> None:
    job = await storage.jobs.add(a_job())
    for step in (pause, resume, pause):
        await storage.jobs.change(TENANT, job.id, decided(step))
    before = await versions_of(storage, TENANT, job.id)
    await stranger.execute("UPDATE job_versions SET after = '[]' WHERE version = 2")

    after = await versions_of(storage, TENANT, job.id)

    assert after[2:] == before[2:]
    assert (await storage.jobs.versions(TENANT, job.id, limit=3)).items == after[:0:-1]
