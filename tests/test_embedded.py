from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import tocsin
from tocsin.domain.errors import InvalidInput, InvalidSchedule


async def test_a_decorated_function_runs_as_a_job_that_a_restart_keeps(tmp_path: Path) -> None:
    opened = tocsin.open_scheduler(f"sqlite:///{tmp_path}/tocsin.db", run_loops=True)
    ran = asyncio.Event()

    @opened.every("1s", name="embedded.ring", tags=("rung",))
    async def ring() -> None:
        ran.set()

    for _ in range(2):
        async with opened as scheduler:
            async with asyncio.timeout(60):
                await ran.wait()
            [job] = (await scheduler.list_jobs(tocsin.JobFilter(key=("embedded.ring",)))).items
        ran.clear()

    assert (job.definition.key, job.definition.schedule, job.version) == ("embedded.ring", "every 1s", 1)
    assert set(job.definition.tags) == {"rung", f"declared:code:{__name__}"[:64]}


async def test_a_process_that_runs_no_handlers_declares_nothing(tmp_path: Path) -> None:
    opened = tocsin.open_scheduler(f"sqlite:///{tmp_path}/tocsin.db")

    @opened.cron("0 2 * * *", name="embedded.nightly")
    async def nightly() -> None: ...

    async with opened as scheduler:
        assert (await scheduler.list_jobs(tocsin.JobFilter(key=("embedded.nightly",)))).total == 0


async def test_a_job_that_never_fires_ends_the_start_and_what_was_opened_for_it(tmp_path: Path) -> None:
    opened = tocsin.open_scheduler(f"sqlite:///{tmp_path}/tocsin.db", run_loops=True)

    @opened.cron("0 0 30 2 *", name="embedded.never")
    async def never() -> None: ...

    with pytest.raises(InvalidSchedule):
        await opened.__aenter__()

    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("tocsin ")]


async def test_an_option_that_does_not_exist_is_refused_as_it_opens() -> None:
    with pytest.raises(InvalidInput, match="colour"):
        async with tocsin.open_scheduler("memory://", colour="red"):
            pass


async def test_a_program_that_is_made_twice_declares_its_functions_twice(tmp_path: Path) -> None:
    def made(number: int) -> tuple[tocsin.EmbeddedScheduler, asyncio.Event]:
        opened, ran = tocsin.open_scheduler(f"sqlite:///{tmp_path}/{number}.db", run_loops=True), asyncio.Event()

        @opened.every("1s", name="embedded.of_a_factory")
        async def tick() -> None:
            ran.set()

        return opened, ran

    first, second = made(1), made(2)
    async with first[0], second[0], asyncio.timeout(60):
        await asyncio.gather(first[1].wait(), second[1].wait())


async def test_handlers_of_the_program_are_there_beside_those_of_the_scheduler(tmp_path: Path) -> None:
    tocsin.handler("embedded.shared")(lambda: None)
    async with tocsin.open_scheduler(f"sqlite:///{tmp_path}/tocsin.db", run_loops=True) as scheduler:
        job = await scheduler.schedule_recurring("shared", schedule="every 30m", handler_name="embedded.shared")

    assert job.definition.handler_name == "embedded.shared"


@pytest.mark.parametrize("run_loops", [True, False])
async def test_roles_cannot_be_named_beside_whether_loops_run(run_loops: bool) -> None:  # noqa: FBT001 - a parameter
    with pytest.raises(InvalidInput, match="roles"):
        async with tocsin.open_scheduler("memory://", run_loops=run_loops, roles="timer"):
            pass
