from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from tests.makers import a_job
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.domain.job import MisfirePolicy, OverlapPolicy
from tocsin.ports.storage import Storage

HERE: Final = Path(__file__).parent
JOBS: Final = 30
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}

DIES_WRITING: Final = """
import asyncio, os, sys
from pathlib import Path
from tests.makers import a_job
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock

def die(job, now):
    os._exit(9)

async def main():
    async with open_sqlite(Path(sys.argv[1]), ManualClock("2026-01-01T01:00:00Z")) as storage:
        await storage.jobs.add(a_job())
        await storage.ledger.fire(die, limit=1)

asyncio.run(main())
"""

LEAVES_A_CALL_BEHIND: Final = """
import asyncio, sys, threading
from pathlib import Path
from tocsin.adapters.sqlite.database import Database
from tocsin.adapters.system import ManualClock

async def main():
    database = Database(Path(sys.argv[1]), ManualClock(), busy_timeout=0.1)
    await database.open()
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(transaction):
        loop.call_soon_threadsafe(began.set)
        threading.Event().wait()

    call = asyncio.ensure_future(database.write(hang))
    await began.wait()
    call.cancel()
    await database.close()

asyncio.run(main())
"""


async def a_timer(path: Path) -> asyncio.subprocess.Process:
    """A process that has opened the file and waits for the word to fire."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, HERE / "a_timer.py", path, "2026-01-01T01:00:00Z"), env=ENVIRONMENT, stdin=pipe, stdout=pipe
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def test_timers_of_several_processes_double_nothing_and_lose_nothing(storage: Storage, path: Path) -> None:
    minutely = {"misfire_policy": MisfirePolicy.RUN_ALL, "overlap_policy": OverlapPolicy.ALLOW_ALL}
    for _ in range(JOBS):
        await storage.jobs.add(a_job(**minutely))

    timers = await asyncio.gather(*(a_timer(path) for _ in range(3)))
    answers = await asyncio.gather(*(timer.communicate(b"go\n") for timer in timers))

    assert sum(int(out) for out, _ in answers) == JOBS * 60
    with closing(sqlite3.connect(path)) as connection:
        [counts] = connection.execute(
            "SELECT count(*), count(DISTINCT job_id || scheduled_at), count(DISTINCT job_id) FROM executions"
        )
        [live] = connection.execute("SELECT sum(live), sum(scheduled_count) FROM job_counters")
    assert counts == (JOBS * 60, JOBS * 60, JOBS)
    assert live == (JOBS * 60, JOBS * 60)


async def test_a_process_that_dies_in_a_transaction_leaves_nothing_of_it(path: Path, clock: ManualClock) -> None:
    died = await asyncio.to_thread(run_python, DIES_WRITING, path)

    assert died == 9
    async with open_sqlite(path, clock) as storage:
        queue = await storage.executions.queue(None)
    assert queue.jobs_by_status == {"active": 1}
    assert (queue.ready, queue.waiting) == (0, 0)


async def test_a_call_that_never_ends_does_not_keep_its_process_alive(path: Path) -> None:
    assert await within(60, asyncio.to_thread(run_python, LEAVES_A_CALL_BEHIND, path)) == 0


async def within(seconds: float, answer: Awaitable[int]) -> int:
    """Wait for something that a mistake would keep from ever ending."""
    async with asyncio.timeout(seconds):
        return await answer


def run_python(code: str, path: Path) -> int:
    """Run code in a process of its own; answer its exit code."""
    try:
        command = [sys.executable, "-c", code, str(path)]
        return subprocess.run(command, env=ENVIRONMENT, check=False, timeout=50).returncode  # noqa: S603 - our own code
    except subprocess.TimeoutExpired:
        pytest.fail("the process did not end")
