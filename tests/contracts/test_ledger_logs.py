from __future__ import annotations

from datetime import timedelta

from tests.contracts.steps import (
    TENANT,
    a_running_attempt,
    execution,
)
from tests.makers import START, a_success, new_id
from tocsin.ports.ledger import LogLine, Progress
from tocsin.ports.storage import Storage


async def test_log_lines_are_kept_in_order_and_once(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)

    def line(number: int, sequence: int, message: str) -> LogLine:
        return LogLine(
            execution_id=attempt.execution_id,
            attempt=number,
            sequence=sequence,
            logged_at=START + timedelta(microseconds=sequence),
            level="info",
            message=message,
            fields={"at": sequence},
        )

    await storage.ledger.append_logs([line(2, 1, "d"), line(1, 2, "b"), line(1, 1, "a")])
    await storage.ledger.append_logs([line(1, 2, "changed"), line(1, 10, "c")])

    page = await storage.executions.logs(TENANT, attempt.execution_id, after=0, limit=10)
    assert [each.message for each in page.items] == ["a", "b", "c", "d"]
    assert page.items[0] == line(1, 1, "a")
    assert (page.total, page.limit, page.offset, page.next_cursor) == (4, 10, 0, None)
    part = await storage.executions.logs(TENANT, attempt.execution_id, after=1, limit=2)
    assert ([each.message for each in part.items], part.total, part.offset) == (["b", "c"], 4, 1)


async def test_lines_of_an_execution_that_is_gone_are_dropped_and_the_rest_is_kept(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)
    ids = [new_id(START), attempt.execution_id]
    lines = [
        LogLine(execution_id=id_, attempt=1, sequence=1, logged_at=START, level="info", message="m") for id_ in ids
    ]

    await storage.ledger.append_logs(lines)

    assert list((await storage.executions.logs(TENANT, ids[1], after=0, limit=5)).items) == [lines[1]]


async def test_progress_is_shown_while_that_attempt_runs(storage: Storage) -> None:
    attempt = await a_running_attempt(storage)

    def progress(number: int, percent: float) -> Progress:
        return Progress(execution_id=attempt.execution_id, attempt=number, percent=percent, message="half")

    await storage.ledger.report([progress(1, 25), progress(1, 50.5), progress(2, 99)])
    row = await execution(storage, attempt.execution_id)
    assert row.metadata == {"progress": {"percent": 50.5, "message": "half"}}

    await storage.ledger.finish([a_success(attempt)])
    await storage.ledger.report([progress(1, 75)])
    assert (await execution(storage, attempt.execution_id)).metadata == row.metadata
