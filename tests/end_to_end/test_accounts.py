from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.end_to_end.accounts import SECOND, SETTLED, Account, account
from tests.makers import START, a_job, new_id
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin, SkipReason
from tocsin.domain.new_execution import new_execution

LAST = START + 4 * SECOND


def recorded(second: int) -> JobExecution:
    at = START + second * SECOND
    return new_execution(a_job(), at, now=at, execution_id=new_id(at))


def skipped(second: int, count: int) -> JobExecution:
    return replace(
        recorded(second),
        status=ExecutionStatus.SKIPPED,
        skip_reason=SkipReason.OVERLAP,
        covers_until=START + (second + count - 1) * SECOND,
        covers_count=count,
    )


def in_account(*executions: JobExecution) -> Account:
    return account(executions, first=START, last=LAST, every=SECOND)


def test_runs_and_skips_together_settle_the_account() -> None:
    assert in_account(recorded(0), skipped(1, 3), recorded(4)) == SETTLED


def test_what_no_row_stands_for_is_missing() -> None:
    assert in_account(recorded(0), skipped(1, 2), recorded(4)) == Account(missing=(START + 3 * SECOND,))


def test_what_two_rows_stand_for_is_doubled() -> None:
    assert in_account(recorded(0), skipped(1, 4), recorded(4)) == Account(doubled=(LAST,))


def test_what_is_no_nominal_time_counts_as_doubled() -> None:
    stray = replace(recorded(0), scheduled_at=START + timedelta(milliseconds=13))

    assert in_account(recorded(0), stray, skipped(1, 4)) == Account(doubled=(stray.scheduled_at,))


def test_runs_by_hand_stand_for_no_nominal_time() -> None:
    by_hand = replace(recorded(0), origin=Origin.MANUAL)

    assert in_account(by_hand, skipped(0, 5)) == SETTLED


def test_a_row_that_miscounts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="covers 3 nominal times, but they are 5"):
        in_account(replace(skipped(0, 5), covers_count=3))
