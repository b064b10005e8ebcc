from __future__ import annotations

import asyncio

from tests.http.nodes import node_in_memory
from tests.makers import a_definition
from tocsin.ports.batches import BulkAction
from tocsin.ports.queries import JobFilter

JOBS = 100


async def test_whoever_else_is_due_has_its_turn_while_a_change_of_many_jobs_is_tried() -> None:
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
        tried = await node.scheduler.change_jobs(BulkAction.PAUSE, query=JobFilter(), dry_run=True)
        other.cancel()

    assert tried.changed == JOBS
    assert turns - before >= JOBS // 10
