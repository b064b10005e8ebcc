from __future__ import annotations

import asyncio
import enum
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from tests.application.rig import Rig
from tests.makers import START, decided
from tocsin.domain.errors import HandlerFailed, StoreUnavailable, TocsinError
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import Backoff
from tocsin.domain.json import ERROR_LIMIT
from tocsin.domain.lifecycle import update
from tocsin.ports.handlers import HandlerContext


async def test_what_a_handler_returns_is_the_result(rig: Rig) -> None:
    def add(payload: Mapping[str, int]) -> dict[str, object]:
        return {"sum": payload["a"] + payload["b"], "at": START}

    execution_id = await rig.start(add, payload={"a": 1, "b": 2})
    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt, row.worker_id) == (ExecutionStatus.SUCCESS, 1, "node-1#a")
    assert row.result == {"sum": 3, "at": "2026-01-01T00:00:00+00:00"}
    assert not row.holds_slot
    assert rig.executor.running == 0


async def test_a_handler_is_told_all_about_its_attempt(rig: Rig) -> None:
    seen: list[HandlerContext] = []
    job = await rig.a_job(seen.append, name="nightly", timeout_ms=5000, payload=[1])
    rig.clock.advance(3)
    execution = await rig.scheduler.trigger_job(job.id, idempotency_key="once")
    await rig.work()
    other = await rig.trigger(job)
    await rig.work()

    first, second = seen
    assert (first.execution_id, first.job_id, first.job_name) == (execution.id, job.id, "nightly")
    assert (first.tenant_id, first.attempt, first.payload) == ("default", 1, [1])
    assert (first.scheduled_at, first.deadline) == (rig.clock.now(), rig.clock.now() + timedelta(seconds=5))
    assert (first.idempotency_key, second.idempotency_key) == ("once", str(other))
    assert not first.cancelled


async def test_the_duration_is_measured_by_a_clock_that_does_not_jump(rig: Rig) -> None:
    async def work() -> None:
        rig.clock.advance(1.25)
        rig.clock.jump_wall(3600)

    execution_id = await rig.start(work)
    await rig.work()

    row = await rig.execution(execution_id)
    assert row.duration_ms == 1250
    assert row.completed_at == START + timedelta(seconds=1.25)


class Odd(enum.Enum):
    ONE = object()


class Broken(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("changed while it was read")

    def __len__(self) -> int:
        return 1


endless: list[object] = []
endless.append(endless)


@pytest.mark.parametrize(
    "result",
    [object(), {1, object()}, b"bytes", "x" * 300_000, endless, Odd.ONE, Broken(), {10**5000: 1}, 10**5000, {(): 1}],
    ids=["object", "set", "bytes", "large", "endless", "enum", "broken", "huge key", "huge number", "tuple key"],
)
async def test_a_result_that_cannot_be_kept_is_a_failure_that_says_so(rig: Rig, result: object) -> None:
    execution_id = await rig.start(lambda: result, max_retries=0)
    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.error_type) == (ExecutionStatus.FAILED, "RESULT_NOT_STORABLE")
    assert (row.error or "").startswith("the result cannot be kept: ")


class Unreadable(Exception):
    def __str__(self) -> str:
        raise ValueError("no message for you")

    def __eq__(self, other: object) -> bool:
        raise ValueError("not to be compared")

    __hash__ = Exception.__hash__


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(4)

    __repr__ = __str__


class Numbered(TocsinError):
    code: ClassVar[Any] = 7


class Fatal(BaseException):
    pass


def cancel_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def fail(error: BaseException) -> None:
    raise error


def stop() -> None:
    sys.exit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["loop", "thread"])
@pytest.mark.parametrize(
    ("step", "error_type", "says"),
    [
        (lambda: fail(ValueError("bad luck")), "ValueError", "bad luck"),
        (lambda: fail(ValueError("x" * 1_000_000)), "ValueError", "xxx"),
        (lambda: fail(ValueError()), "ValueError", "ValueError"),
        (lambda: fail(ValueError("nul \0, \ud800")), "ValueError", "nul \ufffd, \ufffd"),
        (lambda: fail(HandlerFailed("503", {"status": 503})), "HANDLER_FAILED", "503"),
        (lambda: fail(Unreadable()), "Unreadable", "Unreadable, whose message cannot be read: ValueError"),
        (lambda: fail(Leaving()), "Leaving", "Leaving, whose message cannot be read: SystemExit"),
        (lambda: fail(Numbered("seven")), "7", "seven"),
        (lambda: fail(ExceptionGroup("two", [ValueError("a"), KeyError("b")])), "ExceptionGroup", "two"),
        (stop, "HANDLER_FAILED", "3"),
        (interrupt, "HANDLER_FAILED", "KeyboardInterrupt"),
    ],
    ids=[
        "plain",
        "1 MB",
        "silent",
        "nul",
        "own",
        "unreadable",
        "exit when read",
        "odd code",
        "group",
        "exit",
        "interrupt",
    ],
)
async def test_whatever_a_handler_raises_fails_its_execution_within_the_bounds(
    rig: Rig, step: Callable[[], None], error_type: str, says: str, where: str
) -> None:
    async def work() -> None:
        step()

    execution_id = await rig.start(step if where == "thread" else work, max_retries=0)
    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.error_type) == (ExecutionStatus.FAILED, error_type)
    assert says in (row.error or "")
    assert len((row.error or "").encode()) <= ERROR_LIMIT
    assert len((row.error_stack or "").encode()) <= ERROR_LIMIT
    assert "test_executor.py" in (row.error_stack or "") or says in {"3", "KeyboardInterrupt"}


async def test_a_handler_that_raises_no_exception_but_worse_fails_too(rig: Rig) -> None:
    async def work() -> None:
        raise Fatal("out of everything")

    execution_id = await rig.start(work, max_retries=0)
    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.error_type, row.error) == (ExecutionStatus.FAILED, "Fatal", "out of everything")


async def test_a_handler_that_cancels_itself_has_failed(rig: Rig) -> None:
    async def work() -> None:
        cancel_itself()
        await asyncio.Event().wait()

    execution_id = await rig.start(work, max_retries=0)
    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.error_type, row.error) == (
        ExecutionStatus.FAILED,
        "CancelledError",
        "the handler cancelled itself",
    )


async def test_a_failure_keeps_what_the_work_answered(rig: Rig) -> None:
    def work() -> None:
        raise HandlerFailed("answered with status 503", {"status": 503})

    def worse() -> None:
        raise HandlerFailed("answered with rubbish", Broken())

    first, second = await rig.start(work, max_retries=0), await rig.start(worse, max_retries=0)
    await rig.work()

    assert (await rig.execution(first)).result == {"status": 503}
    assert (await rig.execution(second)).result is None


async def test_an_execution_whose_handler_is_gone_fails_and_hinders_nobody(rig: Rig) -> None:
    lost, sound = await rig.a_job(lambda: 1, max_retries=0), await rig.a_job(lambda: 2)
    first, second = await rig.trigger(lost), await rig.trigger(sound)
    gone = replace(lost.definition, handler_name="gone")
    await rig.storage.jobs.change(lost.tenant_id, lost.id, decided(update, gone))

    await rig.work()

    row = await rig.execution(first)
    assert (row.status, row.error_type) == (ExecutionStatus.FAILED, "HANDLER_NOT_FOUND")
    assert (await rig.execution(second)).result == 2
    assert rig.executor.running == 0


async def test_failures_are_tried_again_after_their_delay_until_none_is_left(rig: Rig) -> None:
    tries: list[tuple[int, float]] = []

    def work(context: HandlerContext) -> None:
        tries.append((context.attempt, rig.clock.monotonic()))
        raise ValueError(context.attempt)

    execution_id = await rig.start(work, max_retries=2, retry_delay_ms=10_000, backoff=Backoff.EXPONENTIAL)
    await rig.work()
    assert (await rig.execution(execution_id)).status is ExecutionStatus.PENDING

    for _ in range(40):
        await rig.sweeper.run_once()
        await rig.work()
        rig.clock.advance(1)

    row = await rig.execution(execution_id)
    assert tries == [(1, 0), (2, 10), (3, 30)]
    assert (row.status, row.attempt, row.failures, row.error) == (ExecutionStatus.FAILED, 3, 3, "3")
    assert [past.outcome for past in row.past_attempts] == ["failed", "failed"]


async def test_the_sweeper_answers_when_the_next_retry_is_available(rig: Rig) -> None:
    def work() -> None:
        raise ValueError

    await rig.start(work, max_retries=1, retry_delay_ms=10_000)
    await rig.work()
    rig.clock.advance(4)

    assert await rig.sweeper.run_once() == 6


async def test_fifty_triggers_at_once_run_one_after_the_other(rig: Rig) -> None:
    running: list[int] = []
    most = 0

    async def work(context: HandlerContext) -> None:
        nonlocal most
        running.append(context.attempt)
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.pop()

    job = await rig.a_job(work, concurrency=1)
    ids = [await rig.trigger(job) for _ in range(50)]
    await rig.work()

    assert most == 1
    rows = [await rig.execution(execution_id) for execution_id in ids]
    assert {(row.status, row.attempt) for row in rows} == {(ExecutionStatus.SUCCESS, 1)}
    counters = (await rig.job(job)).counters
    assert (counters.success_count, counters.slots_taken, counters.waiting, counters.live) == (50, 0, 0, 0)


async def test_no_more_is_taken_in_than_there_is_room_for(rig: Rig) -> None:
    opened = asyncio.Event()
    rig.executor.attempts.capacity = 2
    job = await rig.a_job(opened.wait, concurrency=5)
    for _ in range(5):
        await rig.trigger(job)

    await rig.take()
    await rig.take()
    assert rig.executor.running == 2
    claims = rig.ledger.calls["claim"]

    opened.set()
    await rig.work()
    assert claims == 1
    assert (await rig.job(job)).counters.success_count == 5


async def test_what_is_claimed_runs_even_if_the_pipe_fails_before_it_hears_of_it(rig: Rig) -> None:
    rig.pipe.down = {"acknowledge"}
    execution_id = await rig.trigger(await rig.a_job(lambda: "done"))
    with pytest.raises(ConnectionError):
        await rig.executor.run_once()
    rig.pipe.down = set()

    await rig.work()

    row = await rig.execution(execution_id)
    assert (row.status, row.attempt) == (ExecutionStatus.SUCCESS, 1)


async def test_duplicate_deliveries_run_once(rig: Rig) -> None:
    runs: list[int] = []
    job = await rig.a_job(lambda: runs.append(1))
    await rig.trigger(job)
    [[item]] = rig.pipe.sent
    other = rig.another_executor("node-2#b")

    await rig.take()
    await rig.pipe.dispatch([item])
    await rig.take(other)
    await rig.work()
    await rig.pipe.dispatch([item])
    await rig.work(other)

    assert runs == [1]


async def test_a_claim_whose_answer_was_lost_is_taken_up_once_the_store_answers_again(rig: Rig) -> None:
    runs: list[int] = []
    execution_id = await rig.trigger(await rig.a_job(lambda context: runs.append(context.attempt)))
    rig.ledger.deaf = {"claim"}
    with pytest.raises(Exception, match="the answer to claim was lost"):
        await rig.executor.run_once()
    rig.ledger.deaf = set()

    await rig.work()
    await rig.work()

    row = await rig.execution(execution_id)
    assert runs == [1]
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.SUCCESS, 1, 0)


async def test_a_claim_whose_answer_is_lost_for_longer_than_its_lease_comes_back(rig: Rig) -> None:
    runs: list[int] = []
    job = await rig.a_job(lambda context: runs.append(context.attempt), lock_timeout_seconds=30)
    execution_id = await rig.trigger(job)
    rig.ledger.deaf = {"claim"}
    with pytest.raises(Exception, match="the answer to claim was lost"):
        await rig.executor.run_once()
    rig.ledger.deaf = set()

    rig.clock.advance(31)
    for _ in range(20):
        await rig.work()
        rig.clock.advance(1)
        await rig.executor.heartbeat()
        await rig.sweeper.run_once()
    await rig.work()

    row = await rig.execution(execution_id)
    assert runs == [2]
    assert (row.status, row.attempt, row.failures) == (ExecutionStatus.SUCCESS, 2, 1)
    assert [past.outcome for past in row.past_attempts] == ["lease_lost"]


async def test_a_claim_that_was_answered_after_its_lease_starts_nothing(rig: Rig) -> None:
    runs: list[int] = []

    async def stall() -> None:
        rig.clock.advance(30)

    execution_id = await rig.trigger(await rig.a_job(lambda: runs.append(1), lock_timeout_seconds=30))
    rig.ledger.during["claim"] = stall
    await rig.take()

    assert (runs, rig.executor.running) == ([], 0)
    assert rig.notes.of("execution.fenced") == [{"execution_id": str(execution_id), "attempt": 1}]


async def test_what_could_not_be_claimed_is_claimed_as_soon_as_the_store_is_back(rig: Rig) -> None:
    execution_id = await rig.trigger(await rig.a_job(lambda: "done"))
    rig.ledger.down = {"claim"}
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await rig.executor.run_once()
    rig.ledger.down = set()

    await rig.work()

    assert (await rig.execution(execution_id)).status is ExecutionStatus.SUCCESS
    assert rig.ledger.calls["claim"] == 3


async def test_a_batch_that_neither_the_store_nor_the_pipe_takes_is_told_as_the_stores_failure(rig: Rig) -> None:
    await rig.trigger(await rig.a_job(lambda: "done"))
    rig.ledger.down, rig.pipe.down = {"claim"}, {"dispatch"}

    with pytest.raises(StoreUnavailable):
        await rig.executor.run_once()

    assert [fields["executions"] for fields in rig.notes.of("dispatch.failed")] == [1]
