from __future__ import annotations

from tests.faults.cluster import within
from tests.faults.holding import all_ended, all_tried, busiest, hold, told_of
from tests.faults.rig import Rig

HELD = 24


async def test_a_node_frozen_beyond_its_leases_changes_nothing_when_it_goes_on_and_tells_its_handlers(
    rig: Rig,
) -> None:
    async with rig.cluster() as cluster:
        held = await hold(rig, cluster, HELD)
        frozen, its = busiest(cluster, held)
        ending, lasting = its[::2], its[1::2]
        assert lasting, "no node runs two at once"

        frozen.freeze()
        # The first attempt of these will find, when it goes on, that it may end.
        for each in ending:
            each.let_go()
        await all_tried(rig, cluster, its, attempt=2)
        ended_meanwhile = await all_ended(rig, ending)
        frozen.thaw()

        async def all_told() -> bool | None:
            return all(each.tries(cluster)[0].word == "told" for each in lasting) or None

        await within(rig.size.patience, all_told)
        for each in held:
            if each not in ending:
                each.let_go()
        executions = await all_ended(rig, held)
        await rig.closed(cluster, jobs=HELD)

        of_its = [execution for execution in executions if execution.job_id in {each.job.id for each in its}]
        assert told_of(frozen, of_its) == {str(execution.id) for execution in of_its}
        assert {execution.result["attempt"] == execution.attempt for execution in of_its} == {True}  # type: ignore[index, call-overload]
        now = {execution.id: execution for execution in executions}
        assert [now[execution.id] for execution in ended_meanwhile] == list(ended_meanwhile)
