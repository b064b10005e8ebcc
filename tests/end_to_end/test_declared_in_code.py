from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.end_to_end.program import Program, database_url, serving, starting
from tocsin.adapters.http import HttpScheduler
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.ports.queries import JobFilter

MODULE = """\
import tocsin


@tocsin.every("{length}", tags=("made",))
def beat() -> str:
    return "beaten"


@tocsin.cron("0 2 * * *", timezone="Europe/Berlin", key="nightly", payload={{"kind": "full"}})
def report(payload: dict[str, str]) -> str:
    return payload["kind"]
"""
KEYS = ("nightly", "timed.beat")


def write(folder: Path, *, length: str = "15m", only_the_first: bool = False) -> None:
    """Write the module of the program as somebody deploys it."""
    text = MODULE.format(length=length)
    (folder / "timed.py").write_text(text.partition("\n\n\n@tocsin.cron")[0] + "\n" if only_the_first else text)


async def declared(scheduler: HttpScheduler) -> dict[str, ScheduledJob]:
    page = await scheduler.list_jobs(JobFilter(key=KEYS))
    return {job.definition.key or "": job for job in page.items}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return database_url(tmp_path)
    return str(request.getfixturevalue("postgres_url"))


async def test_two_nodes_that_start_at_once_make_and_change_each_job_once(url: str, tmp_path: Path) -> None:
    options = ("--handlers", "timed", "--database-url", url)

    async def both() -> dict[str, ScheduledJob]:
        async with AsyncExitStack() as stack:
            # Both are begun before either is waited for.
            nodes = [await stack.enter_async_context(starting(tmp_path, *options)) for _ in range(2)]
            listening = await asyncio.gather(*(node.logged("http.listening") for node in nodes))
            async with HttpScheduler(listening[0]["url"]) as scheduler:
                found = await declared(scheduler)
            for node in nodes:
                node.terminate()
            assert [await node.exit_code() for node in nodes] == [0, 0]
            return found

    write(tmp_path)
    made = await both()
    assert {key: job.version for key, job in made.items()} == dict.fromkeys(KEYS, 1)
    assert made["nightly"].definition.timezone == "Europe/Berlin"

    kept = await both()
    assert kept == made

    write(tmp_path, length="20m")
    changed = await both()
    assert {key: job.version for key, job in changed.items()} == {"nightly": 1, "timed.beat": 2}
    assert changed["timed.beat"].definition.schedule == "every 20m"
    assert {job.id for job in changed.values()} == {job.id for job in made.values()}


async def test_people_keep_their_pause_and_code_that_is_gone_is_told_of(tmp_path: Path) -> None:
    async def node() -> Program:
        return await stack.enter_async_context(serving(tmp_path, "--handlers", "timed"))

    write(tmp_path)
    async with AsyncExitStack() as stack:
        first = await node()
        nightly = (await declared(first.scheduler))["nightly"]
        await first.scheduler.update_job(nightly.id, priority=90, schedule="0 5 * * *")
        await first.scheduler.pause_job(nightly.id)

        second = await node()
        job = (await declared(second.scheduler))["nightly"]
        assert (job.status, job.definition.priority) == (JobStatus.PAUSED, 90)
        assert job.definition.schedule == "0 2 * * *"

        write(tmp_path, only_the_first=True)
        third = await node()
        assert (await third.logged("job.orphaned"))["key"] == "nightly"
        assert (await declared(third.scheduler)).keys() == set(KEYS)
