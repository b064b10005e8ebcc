"""Whatever fails in whatever order, the ledger is whole once the failing stops."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.application.rig import Rig
from tests.contracts.steps import recount
from tests.makers import START, a_job
from tocsin.adapters.cel import CelExpressions
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import OverlapPolicy
from tocsin.domain.ledger import Fate
from tocsin.ports.handlers import HandlerContext

CALLS = (
    "fire",
    "claim",
    "renew",
    "stopped",
    "finish",
    "release",
    "lapsed",
    "expired",
    "ready",
    "undelivered",
    "redispatch",
)


@dataclass(frozen=True)
class Trouble:
    """What is wrong during one round."""

    down: frozenset[str]
    deaf: frozenset[str]
    pipe: frozenset[str]
    crash: bool
    jump: int


calm = Trouble(down=frozenset(), deaf=frozenset(), pipe=frozenset(), crash=False, jump=0)
calls = st.frozensets(st.sampled_from(CALLS), max_size=3)
troubles = st.builds(
    Trouble,
    down=calls,
    deaf=calls,
    pipe=st.frozensets(st.sampled_from(("dispatch", "receive", "acknowledge")), max_size=2),
    crash=st.sampled_from((False, False, False, True)),
    jump=st.sampled_from((0, 0, 0, 0, 60, -60)),
)


async def live_through(rig: Rig, trouble: Trouble) -> None:
    """Let every loop go round once, each as far as it comes."""
    rig.ledger.down, rig.ledger.deaf, rig.pipe.down = set(trouble.down), set(trouble.deaf), set(trouble.pipe)
    rig.clock.advance(3)
    rig.clock.jump_wall(trouble.jump)
    for step in (rig.timer.run_once, rig.executor.run_once, rig.executor.heartbeat, rig.sweeper.run_once):
        with suppress(StoreUnavailable, ConnectionError):
            await step()
    await rig.handlers_end()
    if trouble.crash:
        rig.executor = rig.another_executor(f"node#{rig.clock.monotonic()}")
    with suppress(StoreUnavailable, ConnectionError):
        await rig.executor.flush()


@settings(max_examples=50)
@given(st.lists(troubles, max_size=20))
async def test_every_fire_is_accounted_for_once_and_nothing_stays_behind(story: list[Trouble]) -> None:
    rig = Rig(CelExpressions())
    attempts: list[tuple[UUID, int]] = []

    def work(context: HandlerContext) -> int:
        attempts.append((context.execution_id, context.attempt))
        return context.attempt

    rig.handle("report", work)
    job = await rig.storage.jobs.add(
        a_job(
            schedule="every 10s",
            end_date=START + timedelta(seconds=100),
            overlap_policy=OverlapPolicy.QUEUE_ALL,
            concurrency=2,
            max_retries=100,
            misfire_grace_seconds=86_400,
            lock_timeout_seconds=30,
        ),
    )
    async with rig.handlers:
        for trouble in story:
            await live_through(rig, trouble)
        # A clock that was set back makes what was made before wait until it has caught up.
        rig.clock.jump_wall(START + timedelta(hours=2) - rig.clock.now())
        for _ in range(60):
            await live_through(rig, calm)

    report = await rig.scheduler.verify_ledger(job.id)
    assert (report.findings, report.totals.of(Fate.RAN) + report.totals.of(Fate.RAN_LATE)) == ((), 10)
    rows = await rig.history(job)
    assert [row.scheduled_at for row in rows] == [START + timedelta(seconds=10 * n) for n in range(1, 11)]
    assert {(row.status, row.holds_slot) for row in rows} == {(ExecutionStatus.SUCCESS, False)}
    assert len(set(attempts)) == len(attempts)
    counters = (await rig.job(job)).counters
    assert recount(rows).slots_taken == counters.slots_taken == 0
    assert recount(rows) == counters
    assert rig.executor.running == rig.executor.ends.unwritten == 0
