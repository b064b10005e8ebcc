from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.application.rig import Notes
from tests.makers import a_job, planner
from tocsin.adapters.calendar import CroniterCalendar
from tocsin.adapters.system import ManualClock, Uuid7Sequence
from tocsin.application.auditing import Auditor
from tocsin.application.planning import Planning
from tocsin.application.watch import PAUSE_SECONDS, LedgerWatch
from tocsin.domain.job import OverlapPolicy
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
