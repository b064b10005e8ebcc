from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.end_to_end.accounts import SECOND, SETTLED, account, ledger_of, nominal_times
from tests.end_to_end.jobs import marks_in
from tests.end_to_end.program import database_url, shorten_leases
from tests.end_to_end.waiting import until
from tocsin.adapters.system import SystemClock
from tocsin.application.scheduler import Scheduler
from tocsin.bootstrap import assemble
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobDefinition, JobType
from tocsin.ports.queries import ExecutionFilter
from tocsin.settings import load_settings

HOUR: Final = timedelta(hours=1)
LEASE_SECONDS: Final = 4

EVERY_SECOND: Final = JobDefinition(
    name="clock", type=JobType.CRON, schedule="* * * * * *", handler_name="record", max_retries=0
)


class MovedClock(SystemClock):
    """The machine's clock as an operator sets it: seconds pass as ever, and the time of day jumps."""

    def __init__(self) -> None:
        self.moved = timedelta()

    def now(self) -> datetime:
        return super().now() + self.moved


@asynccontextmanager
async def node(folder: Path, clock: MovedClock) -> AsyncIterator[Scheduler]:
    """Run a whole node, but for its HTTP face, on that clock."""
    options = {
        "database_url": database_url(folder),
        "roles": "timer,executor,sweeper",
        "log_level": "error",
        "drain_seconds": 0,
    }
    async with assemble(load_settings(options, environment={}), clock) as assembly:
        await assembly.node.start()
        try:
            yield assembly.scheduler
        finally:
            await assembly.node.stop()


async def runs(scheduler: Scheduler, *, since: datetime, at_least: int) -> None:
    """Wait for fires of new nominal times."""
    query = ExecutionFilter(status=(ExecutionStatus.SUCCESS,), scheduled_after=since, limit=1)

    async def enough() -> bool:
        return (await scheduler.list_executions(query)).total >= at_least

    await until(enough)


async def test_a_clock_set_back_and_forth_neither_doubles_nor_loses_a_fire_nor_ends_a_live_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hold").touch()
    clock = MovedClock()
    async with node(tmp_path, clock) as scheduler:
        before = await scheduler.schedule(EVERY_SECOND)
        held = await scheduler.schedule(JobDefinition(name="held", type=JobType.EVENT, handler_name="hold"))
        shorten_leases(tmp_path, LEASE_SECONDS)
        live = await scheduler.trigger_job(held.id)
        await runs(scheduler, since=clock.now(), at_least=1)

        clock.moved = -HOUR
        in_the_past = await scheduler.schedule(EVERY_SECOND)
        shorten_leases(tmp_path, LEASE_SECONDS)
        await runs(scheduler, since=clock.now(), at_least=2)

        clock.moved = HOUR
        await runs(scheduler, since=clock.now(), at_least=5)

        (tmp_path / "hold").unlink()

        async def survived() -> bool:
            return (await scheduler.get_execution(live.id)).status is ExecutionStatus.SUCCESS

        await until(survived)
        survivor = await scheduler.get_execution(live.id)
        for job in (before, in_the_past):
            now = await scheduler.pause_job(job.id)
            ledger = await ledger_of(scheduler, job.id)
            assert (await scheduler.verify_ledger(job.id)).findings == ()
            last = max(at for execution in ledger for at in nominal_times(execution, SECOND))
            assert job.next_run is not None
            assert now.next_run is None
            assert last > clock.now() - 5 * SECOND
            assert account(ledger, first=job.next_run, last=last, every=SECOND) == SETTLED

    assert (survivor.attempt, survivor.failures, survivor.past_attempts) == (1, 0, ())
    started = Counter(run for word, run, *_ in marks_in(tmp_path) if word == "start")
    assert set(started.values()) == {1}
