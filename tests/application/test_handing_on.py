from __future__ import annotations

from tests.application.rig import Rig
from tocsin.domain.execution import ExecutionStatus


async def test_a_run_is_granted_although_the_pipe_is_broken_and_is_repeated_by_a_sweeper(rig: Rig) -> None:
    job = await rig.a_job(lambda: "done")
    rig.pipe.down = {"dispatch"}

    execution_id = await rig.trigger(job)

    assert [fields["executions"] for fields in rig.notes.of("dispatch.failed")] == [1]
    rig.pipe.down = set()
    rig.clock.advance(5)
    await rig.sweeper.run_once()
    await rig.work()
    assert (await rig.execution(execution_id)).status is ExecutionStatus.SUCCESS
