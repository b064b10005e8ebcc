from __future__ import annotations

from datetime import timedelta

from tests.faults.conftest import only
from tests.faults.load import store_load
from tests.faults.rig import Rig

HOUR = 3600.0


@only("redis")
async def test_nodes_whose_clocks_are_an_hour_apart_agree_on_what_is_due_and_on_who_is_alive(rig: Rig) -> None:
    async with rig.cluster(clock_offsets=(-HOUR, 0.0, HOUR)) as cluster:
        load = await store_load(rig.storage, rig.size, rig.size.load)

        verdict = await rig.settled(cluster, load)
        expired, buried = list(cluster.said("lease.expired")), list(cluster.said("worker.dead"))

    now = await rig.storage.jobs.now()
    heartbeats = [worker.heartbeat_at for worker in await rig.storage.workers.list()]
    assert (verdict.repeated, verdict.interrupted) == (0, 0)
    assert (expired, buried) == ([], [])
    assert all(abs(now - heartbeat) < timedelta(hours=0.5) for heartbeat in heartbeats)
