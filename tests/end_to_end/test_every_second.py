from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.end_to_end.accounts import SECOND, SETTLED, account, ledger_of
from tests.end_to_end.jobs import marks_in
from tests.end_to_end.program import gone_quiet, serving
from tests.end_to_end.waiting import until
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobStatus


async def test_a_job_of_every_second_has_each_second_exactly_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        last = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5)
        job = await program.scheduler.schedule_recurring(
            "clock", schedule="* * * * * *", handler_name="record", end_date=last
        )

        async def completed() -> bool:
            return (await program.scheduler.get_job(job.id)).status is JobStatus.COMPLETED

        await until(completed)
        await gone_quiet(program)
        ledger = await ledger_of(program.scheduler, job.id)

    assert job.next_run is not None
    assert account(ledger, first=job.next_run, last=last, every=SECOND) == SETTLED
    ran = [execution for execution in ledger if execution.status is ExecutionStatus.SUCCESS]
    assert all(execution.status is ExecutionStatus.SKIPPED for execution in ledger if execution not in ran)
    assert sorted(run for word, run, _, _ in marks_in(tmp_path) if word == "start") == sorted(str(e.id) for e in ran)
