from __future__ import annotations

from tests.faults.load import begun, store_load
from tests.faults.rig import Rig


async def test_a_rolling_restart_under_load_interrupts_nothing(rig: Rig) -> None:
    size = rig.size
    async with rig.cluster() as cluster:
        load = await store_load(rig.storage, size, size.load)
        await begun(rig.storage, load)

        for node in cluster.nodes:
            assert await node.stop() == 0
            node.start()
            await node.ready()

        verdict = await rig.settled(cluster, load)

    # Whatever ran on a node that was asked to stop, ran to its end there.
    assert (verdict.repeated, verdict.interrupted) == (0, 0)
