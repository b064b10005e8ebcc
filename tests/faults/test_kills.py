from __future__ import annotations

from random import Random

from tests.faults.load import begun, store_load
from tests.faults.rig import Rig
from tocsin.domain.ledger import Fate


async def test_nodes_that_are_killed_at_random_lose_and_double_nothing(rig: Rig) -> None:
    size = rig.size
    async with rig.cluster() as cluster:
        load = await store_load(rig.storage, size, size.killing)
        await begun(rig.storage, load)

        chance = Random(7)  # noqa: S311 - picks victims, guards nothing
        await cluster.kill_at_random(every=size.kill_every, seconds=size.killing, chance=chance)

        verdict = await rig.settled(cluster, load)

    assert verdict.totals.of(Fate.RAN) > 0
    assert verdict.repeated > 0, "no kill hit anything that ran"
