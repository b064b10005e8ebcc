from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.faults.cluster import within
from tests.faults.conftest import only
from tests.faults.holding import all_ended, all_tried, busiest, hold, told_of
from tests.faults.load import begun, store_load
from tests.faults.proxy import Proxy
from tests.faults.rig import Rig

HELD = 24

pytestmark = only("redis")


@pytest.mark.parametrize("part", [Proxy.cut, Proxy.silence])
async def test_a_node_cut_off_from_the_database_alone_gives_up_and_its_late_ends_change_nothing(
    rig: Rig, part: Callable[[Proxy], None]
) -> None:
    async with rig.cluster(wired=True) as cluster:
        held = await hold(rig, cluster, HELD)
        alone, its = busiest(cluster, held)
        ending, lasting = its[::2], its[1::2]
        assert lasting, "no node runs two at once"
        assert alone.wires is not None

        part(alone.wires.database)
        load = await store_load(rig.storage, rig.size, rig.size.load)
        # These end at once, within their leases, with nobody to tell.
        for each in ending:
            each.let_go()
        await all_tried(rig, cluster, its, attempt=2)
        ended_meanwhile = await all_ended(rig, ending)
        alone.wires.database.mend()

        async def all_refused() -> bool | None:
            return told_of(alone, ended_meanwhile) == {str(execution.id) for execution in ended_meanwhile} or None

        await within(rig.size.patience, all_refused)
        assert [each.tries(cluster)[0].word for each in lasting] == ["told"] * len(lasting)
        for each in held:
            if each not in ending:
                each.let_go()
        executions = {execution.id: execution for execution in await all_ended(rig, held)}
        assert [executions[execution.id] for execution in ended_meanwhile] == list(ended_meanwhile)
        await rig.settled(cluster, load, others=HELD)


async def test_a_node_cut_off_from_redis_alone_holds_nothing_up(rig: Rig) -> None:
    async with rig.cluster(wired=True) as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)
        await begun(rig.storage, load)
        wires = cluster.nodes[0].wires
        assert wires is not None
        assert wires.redis is not None

        wires.redis.silence()
        await asyncio.sleep(rig.size.pause)
        wires.redis.mend()

        await rig.settled(cluster, load)
