from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.contracts.model import Step, Twins, decision, planner
from tests.contracts.steps import TENANT, expired
from tests.makers import a_failure, a_job, a_success
from tocsin.adapters.memory import memory_storage
from tocsin.adapters.postgres import Access, open_postgres
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.domain import lifecycle, runs
from tocsin.domain.attempt import Attempt, Finish, hand_back, lose
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.lifecycle import Moment
from tocsin.domain.plan import NewId, Plan
from tocsin.domain.runs import ManualRun
from tocsin.ports.ledger import Lease, LogLine, Progress
from tocsin.ports.storage import Storage

T = TypeVar("T")

PICKS = st.integers(0, 1_000_000)
WORKERS = st.sampled_from(["node-1/boot", "node-2/boot"])
GRACE = timedelta(seconds=10)
RUNS = frozenset({"function/report"})
MOST_JOBS = 5
JOBS = st.fixed_dictionaries(
    {
        "type": st.sampled_from([JobType.INTERVAL, JobType.ONE_TIME, JobType.RECURRING, JobType.EVENT]),
        "concurrency": st.integers(1, 3),
        "overlap_policy": st.sampled_from(OverlapPolicy),
        "misfire_policy": st.sampled_from(MisfirePolicy),
        "max_retries": st.integers(0, 2),
        "key": st.sampled_from([None, "a"]),
    }
)

QUICK = {
    "misfire_grace_seconds": 30,
    "catchup_window_seconds": 120,
    "retry_delay_ms": 7_000,
    "lock_timeout_seconds": 30,
}


class StoresUnderLoad(RuleBasedStateMachine):
    """Whatever nodes, callers and the clock do in whatever order, all stores agree and every count is true."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.clock = ManualClock()
        self.jobs: list[ScheduledJob] = []
        self.ids: list[UUID] = []
        self.attempts: list[Attempt] = []

    @initialize()
    def open(self) -> None:
        self.twins = Twins([memory_storage(self.clock), self.run(self.stack.enter_async_context(self.other()))])
        self.add(type=JobType.EVENT)
        self.add(type=JobType.INTERVAL, overlap_policy=OverlapPolicy.QUEUE_ALL)

    def other(self) -> AbstractAsyncContextManager[Storage]:
        folder = Path(self.stack.enter_context(TemporaryDirectory()))
        return open_sqlite(folder / "tocsin.db", self.clock)

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.runner.close()

    @invariant()
    def stores_agree_and_counts_are_true(self) -> None:
        self.run(self.twins.check(self.jobs))

    @rule(fields=JOBS)
    @precondition(lambda self: len(self.jobs) < MOST_JOBS)
    def add_job(self, fields: dict[str, object]) -> None:
        self.add(**fields)

    @rule(seconds=st.sampled_from([0.000001, 1.5, 7, 20, 31, 65, 400]))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(hours=st.sampled_from([-1, 1]))
    def jump(self, hours: int) -> None:
        self.clock.jump_wall(timedelta(hours=hours))

    @rule(limit=st.integers(1, 3))
    def fire(self, limit: int) -> None:
        self.ask(lambda store, new_id: store.ledger.fire(planner(new_id), limit=limit))

    @rule(pick=PICKS, times=st.integers(1, 4), key=st.sampled_from([None, "once"]))
    def trigger(self, pick: int, times: int, key: str | None) -> None:
        request = ManualRun(payload={"pick": pick}, idempotency_key=key)
        for _ in range(times):
            self.change(pick, lambda job, moment: runs.trigger(job, moment, request), key=key)

    @rule(pick=PICKS, step=st.sampled_from([lifecycle.pause, lifecycle.resume, lifecycle.cancel, lifecycle.delete]))
    def steer(self, pick: int, step: Step) -> None:
        self.change(pick, step)

    @rule(pick=PICKS, step=st.sampled_from([lifecycle.pause, lifecycle.resume]))
    def pause_or_resume(self, pick: int, step: Step) -> None:
        self.change(pick, step)

    @rule(pick=PICKS, concurrency=st.integers(1, 4), priority=st.integers(0, 100))
    def edit(self, pick: int, concurrency: int, priority: int) -> None:
        def step(job: ScheduledJob, moment: Moment) -> Plan:
            slots = 1 if job.definition.overlap_policy is OverlapPolicy.ALLOW_ALL else concurrency
            return lifecycle.update(job, replace(job.definition, concurrency=slots, priority=priority), moment)

        self.change(pick, step)

    @rule(pick=PICKS)
    @precondition(lambda self: self.ids)
    def retry(self, pick: int) -> None:
        execution_id = one_of(self.ids, pick)

        async def call(store: Storage, new_id: NewId) -> object:
            failed = await store.executions.get(TENANT, execution_id)
            step: Step = lambda job, moment: runs.retry(job, failed, moment)  # noqa: E731 - a step by its type
            return await store.jobs.change(TENANT, failed.job_id, decision(step, new_id))

        self.ask(call)

    @rule(picks=st.lists(PICKS, min_size=1, max_size=5), worker=WORKERS)
    @precondition(lambda self: self.ids)
    def claim(self, picks: list[int], worker: str) -> None:
        ids = [one_of(self.ids, pick) for pick in picks]
        claimed = self.ask(lambda store, _: store.ledger.claim(ids, worker_id=worker))
        self.attempts += cast("Sequence[Attempt]", claimed)

    @rule(worker=WORKERS)
    @precondition(lambda self: self.ids)
    def claim_everything(self, worker: str) -> None:
        claimed = self.ask(lambda store, _: store.ledger.claim(self.ids, worker_id=worker))
        self.attempts += cast("Sequence[Attempt]", claimed)

    @rule(picks=st.lists(PICKS, min_size=1, max_size=4), how=st.lists(st.integers(0, 5), min_size=4, max_size=4))
    @precondition(lambda self: self.attempts)
    def finish(self, picks: list[int], how: list[int]) -> None:
        finishes = [self.a_finish(one_of(self.attempts, pick), how[number]) for number, pick in enumerate(picks)]
        self.ask(lambda store, _: store.ledger.finish(finishes))

    def a_finish(self, attempt: Attempt, how: int) -> Finish:
        match how:
            case 0 | 1:
                return a_success(attempt, result={"attempt": attempt.attempt})
            case 2:
                return a_failure(attempt, error_stack="line 1")
            case 3:
                return a_failure(attempt, status=ExecutionStatus.TIMEOUT, error_type="EXECUTION_TIMEOUT")
            case 4:
                return hand_back(attempt, self.clock.now())
            case _:
                return a_success(attempt, result="\ud800")

    @rule(picks=st.lists(PICKS, min_size=1, max_size=4))
    @precondition(lambda self: self.attempts)
    def release(self, picks: list[int]) -> None:
        attempts = [one_of(self.attempts, pick) for pick in picks]
        self.ask(lambda store, _: store.ledger.release([(each.execution_id, each.attempt) for each in attempts]))

    @rule(worker=WORKERS)
    @precondition(lambda self: self.attempts)
    def renew(self, worker: str) -> None:
        holds = [(attempt.execution_id, attempt.attempt) for attempt in self.attempts]
        leases = dict.fromkeys(holds, timedelta(seconds=60))
        self.ask(lambda store, _: store.ledger.renew(leases, worker_id=worker))
        self.ask(lambda store, _: store.ledger.stopped(holds))

    @rule(pick=PICKS)
    @precondition(lambda self: self.ids)
    def cancel_execution(self, pick: int) -> None:
        self.ask(lambda store, _: store.executions.cancel(TENANT, one_of(self.ids, pick)))

    @rule(limit=st.integers(1, 4))
    def recover(self, limit: int) -> None:
        leases = cast("Sequence[Lease]", self.ask(lambda store, _: expired(store, limit=limit)))
        lost = [
            lose(lease.attempt, lease.lease_expires_at, chance=0)
            for lease in leases
            if lease.status is ExecutionStatus.RUNNING
        ]
        over = [(lease.attempt.execution_id, lease.attempt.attempt) for lease in leases if lease.status.terminal]
        self.ask(lambda store, _: store.ledger.finish(lost))
        self.ask(lambda store, _: store.ledger.release(over))

    @rule(limit=st.integers(1, 4))
    def dispatch_what_is_ready(self, limit: int) -> None:
        self.ask(lambda store, _: store.ledger.ready(limit=limit))

    @rule(limit=st.integers(1, 4))
    def dispatch_again(self, limit: int) -> None:
        found = cast(
            "Any", self.ask(lambda store, _: store.ledger.undelivered(capabilities=RUNS, grace=GRACE, limit=limit))
        )
        seen = [(dispatch.execution_id, at) for dispatch, at in found]
        self.ask(lambda store, _: store.ledger.redispatch(seen))

    @rule(pick=PICKS, sequence=st.integers(1, 3))
    @precondition(lambda self: self.attempts)
    def speak(self, pick: int, sequence: int) -> None:
        attempt = one_of(self.attempts, pick)
        line = LogLine(
            execution_id=attempt.execution_id,
            attempt=attempt.attempt,
            sequence=sequence,
            logged_at=self.clock.now(),
            level="info",
            message=f"{pick}",
        )
        report = Progress(
            execution_id=attempt.execution_id, attempt=attempt.attempt, percent=pick / 10_000, message=None
        )
        self.ask(lambda store, _: store.ledger.append_logs([line]))
        self.ask(lambda store, _: store.ledger.report([report]))
        self.ask(lambda store, _: store.executions.logs(TENANT, attempt.execution_id, after=0, limit=10))

    def add(self, **fields: object) -> None:
        soon = self.clock.now() + timedelta(seconds=30)
        schedules = {JobType.ONE_TIME: soon.isoformat(), JobType.EVENT: None}
        if fields.get("overlap_policy") is OverlapPolicy.ALLOW_ALL:
            fields["concurrency"] = 1
        job = a_job(
            **fields,
            **QUICK,
            schedule=schedules.get(cast("JobType", fields["type"]), "every 20s"),
            max_executions=3 if fields["type"] is JobType.RECURRING else None,
            created_at=self.clock.now(),
        )
        if self.ask(lambda store, _: store.jobs.add(job)) is not None:
            self.jobs.append(job)

    def change(self, pick: int, step: Step, *, key: str | None = None) -> None:
        job = one_of(self.jobs, pick)
        self.ask(lambda store, new_id: store.jobs.change(TENANT, job.id, decision(step, new_id), idempotency_key=key))

    def ask(self, call: Any) -> object:  # noqa: ANN401 - a Call, spelled out where it is made
        answer = self.run(self.twins.ask(call))
        self.ids = self.run(self.twins.executions(self.jobs))
        return answer

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self.runner.run(awaited())


def one_of(choices: Sequence[T], pick: int) -> T:
    return choices[pick % len(choices)]


TestStoresUnderLoad = StoresUnderLoad.TestCase
TestStoresUnderLoad.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


class PostgresUnderLoad(StoresUnderLoad):
    """The same with PostgreSQL, in one database that every example finds empty."""

    url: ClassVar[str]

    def other(self) -> AbstractAsyncContextManager[Storage]:
        self.run(emptied(self.url))
        return open_postgres(Access(url=self.url), self.clock)


async def emptied(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("TRUNCATE tocsin.jobs, tocsin.executions, tocsin.open_executions, tocsin.claims CASCADE")
    await connection.close()


@pytest.fixture
def its_database(postgres_url: str) -> None:
    PostgresUnderLoad.url = postgres_url


TestPostgresUnderLoad = pytest.mark.usefixtures("its_database")(PostgresUnderLoad.TestCase)
# A step takes some hundred round trips, so there are fewer than with the file.
TestPostgresUnderLoad.settings = settings(TestStoresUnderLoad.settings, max_examples=10, stateful_step_count=30)
