from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Thread
from typing import Any, cast
from uuid import UUID

import pytest

from tests.application.rig import Rig
from tests.handlers.contexts import AN_ATTEMPT
from tests.makers import START
from tocsin.application.held_attempt import CancellationFlag
from tocsin.application.journal import BATCH, FIELDS_LIMIT, LINES_LIMIT, MESSAGE_LIMIT, Journal
from tocsin.domain.attempt import Attempt
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.json import Json
from tocsin.ports.handlers import ExecutionLogger, HandlerContext

MEDDLING_SECONDS = 0.1


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Leaving:
    def __str__(self) -> str:
        raise SystemExit(4)


async def held(rig: Rig) -> tuple[UUID, HandlerContext]:
    """Start a handler that stays; answer its execution and what it was given."""
    given: list[HandlerContext] = []

    async def work(context: HandlerContext) -> None:
        given.append(context)
        await asyncio.Event().wait()

    execution_id = await rig.start(work)
    return execution_id, given[0]


async def progress(rig: Rig, execution_id: UUID) -> Json:
    return cast("dict[str, Json]", (await rig.execution(execution_id)).metadata).get("progress")


@dataclass(slots=True)
class Meddling:
    """Records for which, while the first logger is made, another thread asks for its own (`ExecutionRecords`)."""

    journal: Journal
    asks: list[Callable[[], object]]
    others: list[Thread] = field(default_factory=list)

    def logger_of(self, attempt: Attempt) -> ExecutionLogger:
        if self.asks:
            other = Thread(target=self.asks.pop())
            self.others.append(other)
            other.start()
            other.join(MEDDLING_SECONDS)
        return self.journal.logger_of(attempt)

    def report(self, attempt: Attempt, percent: float, message: str | None) -> None:
        self.journal.report(attempt, percent, message)


def test_threads_of_a_handler_that_first_write_at_once_write_one_log() -> None:
    records, got = Meddling(Journal(lambda: START), []), list[ExecutionLogger]()
    context = HandlerContext(AN_ATTEMPT, cancellation=CancellationFlag(), records=records)
    records.asks.append(lambda: got.append(context.logger))

    got.append(context.logger)
    for other in records.others:
        other.join()

    assert len(got) == 2
    assert got[0] is got[1] is context.logger


async def test_lines_are_kept_in_order_with_their_level_time_and_fields(rig: Rig) -> None:
    execution_id, context = await held(rig)
    context.logger.debug("one")
    rig.clock.advance(1)
    context.logger.info("two", rows=3)
    context.logger.warning("three")
    context.logger.error("four", why={"code": 7})
    await rig.executor.flush()

    lines = await rig.logs(execution_id)
    assert [(line.sequence, line.level, line.message, line.fields) for line in lines] == [
        (1, "debug", "one", None),
        (2, "info", "two", {"rows": 3}),
        (3, "warning", "three", None),
        (4, "error", "four", {"why": {"code": 7}}),
    ]
    assert [line.logged_at - START for line in lines[:2]] == [timedelta(), timedelta(seconds=1)]


async def test_an_attempt_that_says_too_much_is_cut_short_and_the_log_says_so(rig: Rig) -> None:
    execution_id, context = await held(rig)
    for number in range(LINES_LIMIT + 500):
        context.logger.info(str(number))
    await rig.executor.flush()

    lines = await rig.logs(execution_id)
    assert len(lines) == LINES_LIMIT
    assert (lines[-2].message, lines[-1].level) == (str(LINES_LIMIT - 2), "warning")
    assert lines[-1].message == f"only the first {LINES_LIMIT - 1} lines of an attempt are kept"


@pytest.mark.parametrize("fields", [{"a": object()}, {"a": "x" * FIELDS_LIMIT}, {"a": {10**5000: 1}}, {"a": Mute()}])
async def test_fields_that_cannot_be_kept_are_dropped_and_the_line_says_why(rig: Rig, fields: dict[str, Any]) -> None:
    execution_id, context = await held(rig)
    context.logger.info("here", **fields)
    await rig.executor.flush()

    [line] = await rig.logs(execution_id)
    assert line.message == "here"
    assert list(cast("dict[str, Json]", line.fields)) == ["dropped"]


async def test_a_logger_never_raises_and_keeps_its_bounds(rig: Rig) -> None:
    execution_id, context = await held(rig)
    for message in ("x" * 100_000, "nul \0", "\ud800", cast("str", Mute()), cast("str", Leaving()), cast("str", 5)):
        context.logger.info(message)
    await rig.executor.flush()

    messages = [line.message for line in await rig.logs(execution_id)]
    assert len(messages[0].encode()) <= MESSAGE_LIMIT
    assert messages[1:] == [
        "nul \ufffd",
        "\ufffd",
        "a Mute that cannot be written: RuntimeError",
        "a Leaving that cannot be written: SystemExit",
        "5",
    ]


async def test_threads_that_log_at_once_lose_no_line_and_share_no_number(rig: Rig) -> None:
    execution_id, context = await held(rig)

    def talk() -> None:
        for _ in range(200):
            context.logger.info("line")

    threads = [Thread(target=talk) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        await rig.executor.flush()
    await rig.executor.flush()

    lines = await rig.logs(execution_id)
    assert [line.sequence for line in lines] == list(range(1, 1601))


async def test_many_lines_are_written_in_batches(rig: Rig) -> None:
    _, context = await held(rig)
    for _ in range(BATCH + 1):
        context.logger.info("line")
    await rig.executor.flush()

    assert rig.ledger.calls["append_logs"] == 2


async def test_lines_and_progress_that_the_store_refused_are_written_later_in_order(rig: Rig) -> None:
    execution_id, context = await held(rig)
    context.logger.info("one")
    context.progress(10)
    for down in ("append_logs", "report"):
        rig.ledger.down = {down}
        with pytest.raises(StoreUnavailable):
            await rig.executor.flush()
    context.logger.info("two")
    rig.ledger.down = set()
    await rig.executor.flush()

    assert [line.message for line in await rig.logs(execution_id)] == ["one", "two"]
    assert await progress(rig, execution_id) == {"percent": 10.0, "message": None}


async def test_the_newest_progress_is_shown(rig: Rig) -> None:
    execution_id, context = await held(rig)
    context.progress(10, "started")
    context.progress(55.5, "half \0")
    await rig.executor.flush()
    assert await progress(rig, execution_id) == {"percent": 55.5, "message": "half \ufffd"}
    assert rig.ledger.calls["report"] == 1

    rig.ledger.down = {"report"}
    context.progress(70)
    with pytest.raises(StoreUnavailable):
        await rig.executor.flush()
    context.progress(80)
    rig.ledger.down = set()
    await rig.executor.flush()
    assert await progress(rig, execution_id) == {"percent": 80.0, "message": None}


async def test_progress_that_was_reported_meanwhile_is_not_undone_by_what_is_written_again(rig: Rig) -> None:
    execution_id, context = await held(rig)

    async def meanwhile() -> None:
        context.progress(20)

    context.progress(10)
    rig.ledger.during["report"] = meanwhile
    rig.ledger.deaf = {"report"}
    with pytest.raises(StoreUnavailable):
        await rig.executor.flush()
    rig.ledger.deaf = set()
    await rig.executor.flush()

    assert await progress(rig, execution_id) == {"percent": 20.0, "message": None}


@pytest.mark.parametrize(("reported", "shown"), [(-5, 0), (250, 100), (float("nan"), 0), (float("inf"), 100)])
async def test_progress_lies_between_0_and_100(rig: Rig, reported: float, shown: float) -> None:
    execution_id, context = await held(rig)
    context.progress(reported)
    await rig.executor.flush()

    assert await progress(rig, execution_id) == {"percent": shown, "message": None}


async def test_an_attempt_of_the_past_shows_no_progress_in_place_of_its_successor(rig: Rig) -> None:
    execution_id, zombie = await held(rig)
    rig.clock.advance(100)
    await rig.sweeper.run_once()
    rig.clock.advance(100)
    await rig.sweeper.run_once()
    [attempt] = await rig.ledger.claim([execution_id], worker_id="node-1#a")
    rig.executor.journal.report(attempt, 20.0, "second try")
    zombie.progress(90, "first try")
    await rig.executor.flush()

    assert await progress(rig, execution_id) == {"percent": 20.0, "message": "second try"}


async def test_a_line_said_just_before_the_end_is_there_when_the_end_is(rig: Rig) -> None:
    execution_id = await rig.start(lambda context: context.logger.info("bye"))
    await rig.work()

    assert (await rig.execution(execution_id)).status is ExecutionStatus.SUCCESS
    assert [line.message for line in await rig.logs(execution_id)] == ["bye"]


async def test_a_flush_ends_though_handlers_talk_all_the_while(rig: Rig) -> None:
    execution_id, context = await held(rig)

    async def talk() -> None:
        context.logger.info("and on")
        rig.ledger.during["append_logs"] = talk

    context.logger.info("on")
    await talk()
    await rig.executor.flush()

    assert [line.message for line in await rig.logs(execution_id)] == ["on", "and on"]
    assert rig.ledger.calls["append_logs"] == 1


async def test_lines_that_find_no_room_are_dropped_and_counted_where_they_are_missing(rig: Rig) -> None:
    talkative, first = await held(rig)
    modest, second = await held(rig)
    rig.executor.journal.queue_limit = 3
    for number in range(1, 6):
        first.logger.info(str(number))
    second.logger.error("lost as well")
    rig.ledger.down = {"append_logs"}
    with pytest.raises(StoreUnavailable):
        await rig.executor.flush()
    rig.ledger.down = set()
    await rig.executor.flush()
    first.logger.info("6")
    await rig.executor.flush()

    lost = "lines were dropped here: more was said on this node than the store could take"
    told = [(line.level, line.message) for line in await rig.logs(talkative)]
    assert told == [("info", "1"), ("info", "2"), ("info", "3"), ("warning", f"2 {lost}"), ("info", "6")]
    assert [(line.level, line.message) for line in await rig.logs(modest)] == [("warning", f"1 {lost}")]
