"""Executions that run for as long as a test wants, and a look at where they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tests.faults.cluster import Cluster, Node, within
from tests.faults.load import one_time_job, store
from tests.faults.marks import Try, tries_in
from tests.faults.rig import Rig
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import ScheduledJob
from tocsin.ports.queries import ExecutionFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A job of one time whose execution runs until `let_go`, on whichever node."""

    job: ScheduledJob
    file: Path

    def let_go(self) -> None:
        """Let its execution, every attempt of it, end."""
        self.file.unlink()

    def tries(self, cluster: Cluster) -> list[Try]:
        """List its attempts so far, the oldest first."""
        mine = [each for each in tries_in(cluster.folder, cluster.lives) if each.job == str(self.job.id)]
        return sorted(mine, key=lambda each: each.attempt)

    async def execution(self, rig: Rig) -> JobExecution:
        """Read its execution."""
        page = await rig.storage.executions.list(self.job.tenant_id, ExecutionFilter(job_id=self.job.id))
        (execution,) = page.items
        return execution


async def hold(rig: Rig, cluster: Cluster, number: int) -> list[Held]:
    """Store that many jobs, and wait until all of them run."""
    now = await rig.storage.jobs.now()
    due = now + timedelta(seconds=1)
    files = [rig.folder / f"held-{index}" for index in range(number)]
    held = [
        Held(job=one_time_job(rig.size, due, handler_name="hold", payload=file.name, created_at=now), file=file)
        for file in files
    ]
    for file in files:
        file.touch()
    await store(rig.storage, [each.job for each in held])
    await all_tried(rig, cluster, held, attempt=1)
    return held


async def all_tried(rig: Rig, cluster: Cluster, held: Sequence[Held], *, attempt: int) -> None:
    """Wait until an attempt of that number, or a later one, has started for each."""

    async def look() -> bool | None:
        found = {each.job for each in tries_in(cluster.folder, cluster.lives) if each.attempt >= attempt}
        return True if found >= {str(each.job.id) for each in held} else None

    await within(rig.size.patience, look)


async def all_ended(rig: Rig, held: Sequence[Held]) -> list[JobExecution]:
    """Wait until each has succeeded, and answer how."""

    async def look() -> list[JobExecution] | None:
        executions = [await each.execution(rig) for each in held]
        return executions if {each.status for each in executions} == {ExecutionStatus.SUCCESS} else None

    return await within(rig.size.patience, look)


def busiest(cluster: Cluster, held: Sequence[Held]) -> tuple[Node, list[Held]]:
    """Find the node on which most of these run, and which do."""
    process = {each.job.id: each.tries(cluster)[-1].process for each in held}
    there = {node.number: [each for each in held if process[each.job.id] == node.process.pid] for node in cluster.nodes}
    node = max(cluster.nodes, key=lambda node: len(there[node.number]))
    return node, there[node.number]


def told_of(node: Node, executions: Sequence[JobExecution]) -> set[str]:
    """List which of these the log of a node says to have been given up, or to have been refused their end."""
    ids = {str(execution.id) for execution in executions}
    events = {"execution.fenced", "execution.lease_lost"}
    return ids & {line["execution_id"] for line in node.log_lines() if line["event"] in events}
