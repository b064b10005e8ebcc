from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end.accounts import ledger_of
from tests.end_to_end.program import database_url
from tocsin.adapters.system import ManualClock
from tocsin.application.scheduler import Scheduler
from tocsin.application.timer import Timer
from tocsin.bootstrap import assemble
from tocsin.domain.job import JobDefinition, JobType, OverlapPolicy, ScheduledJob
from tocsin.settings import load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A scheduler over a real file, whose timer goes round only when told to."""

    clock: ManualClock
    scheduler: Scheduler
    timer: Timer

    async def recorded(self, job: ScheduledJob) -> list[str]:
        """Read the nominal times in the ledger, oldest first."""
        return sorted(f"{execution.scheduled_at:%H:%M:%S}" for execution in await ledger_of(self.scheduler, job.id))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = ManualClock("2026-03-01T11:58:30Z")
    options = {"database_url": database_url(tmp_path), "roles": "api", "log_level": "error"}
    async with assemble(load_settings(options, environment={}), clock) as assembly:
        parts = assembly.node.parts
        timer = Timer(
            ledger=parts.storage.ledger,
            dispatcher=parts.dispatcher,
            planning=parts.planning,
            telemetry=parts.telemetry,
        )
        yield Desk(clock=clock, scheduler=assembly.scheduler, timer=timer)


async def minutely(desk: Desk) -> ScheduledJob:
    definition = JobDefinition(
        name="minutely",
        type=JobType.CRON,
        schedule="* * * * *",
        handler_name="tocsin.noop",
        overlap_policy=OverlapPolicy.ALLOW_ALL,
    )
    return await desk.scheduler.schedule(definition)


async def test_a_pause_in_the_second_after_an_unfired_due_time_swallows_and_repeats_nothing(desk: Desk) -> None:
    job = await minutely(desk)
    desk.clock.move_to("2026-03-01T11:59:00Z")
    await desk.timer.run_once()

    desk.clock.move_to("2026-03-01T12:00:01Z")
    await desk.scheduler.pause_job(job.id)
    assert await desk.recorded(job) == ["11:59:00", "12:00:00"]

    await desk.timer.run_once()
    await desk.scheduler.resume_job(job.id)
    await desk.timer.run_once()
    assert await desk.recorded(job) == ["11:59:00", "12:00:00"]

    desk.clock.move_to("2026-03-01T12:01:00Z")
    await desk.timer.run_once()
    assert await desk.recorded(job) == ["11:59:00", "12:00:00", "12:01:00"]


async def test_an_edit_in_the_second_after_an_unfired_due_time_fires_it_under_the_old_schedule(desk: Desk) -> None:
    job = await minutely(desk)
    desk.clock.move_to("2026-03-01T11:59:01Z")
    edited = await desk.scheduler.reschedule(job.id, schedule="*/30 * * * * *")
    assert await desk.recorded(job) == ["11:59:00"]
    assert f"{edited.next_run:%H:%M:%S}" == "11:59:30"

    desk.clock.move_to("2026-03-01T12:00:01Z")
    renamed = await desk.scheduler.update_job(job.id, name="half-minutely")
    assert await desk.recorded(job) == ["11:59:00", "11:59:30", "12:00:00"]
    assert f"{renamed.next_run:%H:%M:%S}" == "12:00:30"

    await desk.timer.run_once()
    desk.clock.move_to("2026-03-01T12:00:30Z")
    await desk.timer.run_once()
    assert await desk.recorded(job) == ["11:59:00", "11:59:30", "12:00:00", "12:00:30"]


async def test_what_lies_in_a_pause_is_neither_fired_nor_made_up_for(desk: Desk) -> None:
    job = await minutely(desk)
    desk.clock.move_to("2026-03-01T11:59:01Z")
    await desk.scheduler.pause_job(job.id)
    desk.clock.move_to("2026-03-01T12:07:30Z")
    await desk.timer.run_once()
    await desk.scheduler.update_job(job.id, priority=75)
    await desk.scheduler.resume_job(job.id)
    await desk.timer.run_once()
    desk.clock.move_to("2026-03-01T12:08:00Z")
    await desk.timer.run_once()

    assert await desk.recorded(job) == ["11:59:00", "12:08:00"]


async def test_a_resume_after_the_clock_was_set_back_repeats_nothing(desk: Desk) -> None:
    job = await minutely(desk)
    desk.clock.move_to("2026-03-01T12:00:00Z")
    await desk.timer.run_once()
    desk.clock.jump_wall(-90)
    await desk.scheduler.pause_job(job.id)
    resumed = await desk.scheduler.resume_job(job.id)
    await desk.timer.run_once()

    assert f"{resumed.next_run:%H:%M:%S}" == "12:01:00"
    assert await desk.recorded(job) == ["11:59:00", "12:00:00"]
