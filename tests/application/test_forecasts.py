from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.http.nodes import node_in_memory
from tests.makers import a_definition

JOBS = 100


async def test_whoever_else_is_due_has_its_turn_while_many_fires_are_forecast() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with node_in_memory() as node:
        await node.scheduler.schedule_many([a_definition(name=f"job {n}") for n in range(JOBS)])
        other = asyncio.create_task(count())
        await asyncio.sleep(0)
        before = turns
        found = await node.scheduler.list_upcoming(within=timedelta(hours=1), limit=JOBS)
        other.cancel()

    assert len(found.fires) == JOBS
    assert turns - before >= JOBS // 10
