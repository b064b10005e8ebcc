from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.faults.cluster import within
from tests.faults.conftest import only
from tests.faults.load import Load, a_short_lease_job, store
from tests.faults.rig import Rig
from tocsin.domain.job import JobType, OverlapPolicy, ScheduledJob

if TYPE_CHECKING:
    from tests.faults.rig import Connection

TIMES = 100
CAPACITY = 5
GATE = "gate"

COUNTS = """
SELECT count(*) FILTER (WHERE status = 'pending') AS waiting, count(*) FILTER (WHERE status = 'running') AS running,
    coalesce(sum(redispatches), 0) AS repeats, coalesce(max(redispatches), 0) AS most
FROM tocsin.executions
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """Executions that wait and that run, and how often any, and the most unlucky, was dispatched again."""

    waiting: int
    running: int
    repeats: int
    most: int


async def counted(connection: Connection) -> Counts:
    row = await connection.fetchrow(COUNTS)
    assert row is not None
    return Counts(**row)


async def overdue_jobs(rig: Rig) -> list[ScheduledJob]:
    """Make jobs that have a hundred nominal times behind them, all of which still run."""
    now = await rig.storage.jobs.now()
    last = now.replace(microsecond=0)
    first = last - timedelta(seconds=TIMES - 1)
    return [
        a_short_lease_job(
            rig.size,
            name=f"backlog {number}",
            type=JobType.RECURRING,
            schedule="* * * * * *",
            start_date=first,
            end_date=last,
            created_at=first - timedelta(seconds=1),
            handler_name="hold",
            payload=GATE,
            overlap_policy=OverlapPolicy.ALLOW_ALL,
            misfire_grace_seconds=3600,
        )
        for number in range(rig.size.backlog // TIMES)
    ]


@only("redis")
async def test_a_backlog_is_no_loss_and_a_lost_one_is_dispatched_again_once(rig: Rig) -> None:
    assert rig.redis is not None
    gate = rig.folder / GATE
    gate.touch()
    jobs = await overdue_jobs(rig)
    started = rig.size.nodes * CAPACITY
    waiting = len(jobs) * TIMES - started
    async with rig.cluster(concurrency=CAPACITY) as cluster, rig.connection() as connection:
        await store(rig.storage, jobs)

        async def full() -> bool | None:
            counts = await counted(connection)
            return (counts.waiting, counts.running) == (waiting, started) or None

        await within(rig.size.patience, full)
        rig.redis.pause()
        await asyncio.sleep(rig.size.pause)
        rig.redis.resume()
        # Twice the time after which a sweeper asks whether what it sees was lost.
        await asyncio.sleep(10)
        assert (await counted(connection)).repeats == 0

        await asyncio.to_thread(rig.redis.command, "FLUSHALL")

        async def repeated() -> bool | None:
            return (await counted(connection)).repeats > 0 or None

        await within(rig.size.patience, repeated)
        # Longer than a sweeper waits before it asks again: what it has sent is a backlog now, and no loss either.
        await asyncio.sleep(12)
        assert (await counted(connection)).most == 1

        # What was lost behind the new backlog is found once that has been handed out.
        gate.unlink()
        now = await rig.storage.jobs.now()
        await rig.settled(cluster, Load(jobs=jobs, first=now, last=now))
        # Beside what waited, no more than was just being handed over can have been lost.
        assert waiting <= sum(line["executions"] for line in cluster.said("dispatch.repeated")) <= waiting + started
