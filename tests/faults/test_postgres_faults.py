from __future__ import annotations

import asyncio

from tests.faults.conftest import only
from tests.faults.load import begun, store_load
from tests.faults.rig import Rig

CUT_EVERY = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


async def test_a_database_that_crashes_under_load_loses_and_doubles_nothing(rig: Rig) -> None:
    async with rig.cluster() as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)

        await asyncio.to_thread(rig.postgres.stop_immediately)
        await asyncio.sleep(1)
        await asyncio.to_thread(rig.postgres.start)

        await rig.settled(cluster, load)


@only("postgres")
async def test_connections_that_the_database_ends_lose_and_double_nothing(rig: Rig) -> None:
    async with rig.cluster() as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)

        ended = 0
        async with rig.connection() as connection:
            for _ in range(int(rig.size.load / 2)):
                ended += len(await connection.fetch(CUT_EVERY))
                await asyncio.sleep(1)

        assert ended >= rig.size.nodes
        await rig.settled(cluster, load)


@only("redis")
async def test_a_database_that_stands_still_loses_and_doubles_nothing(rig: Rig) -> None:
    async with rig.cluster() as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)

        rig.postgres.pause()
        await asyncio.sleep(rig.size.pause)
        rig.postgres.resume()

        await rig.settled(cluster, load)


@only("postgres")
async def test_a_transaction_that_holds_the_xmin_horizon_holds_nothing_up(rig: Rig) -> None:
    size = rig.size
    async with rig.cluster() as cluster, rig.connection() as connection:
        load = await store_load(rig.storage, size, size.horizon)
        async with connection.transaction(isolation="repeatable_read"):
            await connection.fetchval("SELECT count(*) FROM tocsin.executions")
            await asyncio.sleep(size.horizon)

        await rig.settled(cluster, load)
