from __future__ import annotations

from itertools import product

import pytest

from tocsin.domain.errors import InvalidTransition
from tocsin.domain.execution import ExecutionStatus

ALLOWED = {
    ("pending", "running"),
    ("pending", "cancelled"),
    ("pending", "skipped"),
    ("running", "success"),
    ("running", "failed"),
    ("running", "timeout"),
    ("running", "cancelled"),
    ("running", "pending"),
}
PAIRS = list(product(ExecutionStatus, ExecutionStatus))


def test_the_table_knows_every_status() -> None:
    assert {status.value for status in ExecutionStatus} == {name for pair in ALLOWED for name in pair}


@pytest.mark.parametrize(("current", "wanted"), [pair for pair in PAIRS if pair in ALLOWED])
def test_an_execution_takes_the_steps_of_the_table(current: ExecutionStatus, wanted: ExecutionStatus) -> None:
    assert current.to(wanted) is wanted


@pytest.mark.parametrize(("current", "wanted"), [pair for pair in PAIRS if pair not in ALLOWED])
def test_an_execution_takes_no_other_step_and_says_both_ends_of_it(
    current: ExecutionStatus, wanted: ExecutionStatus
) -> None:
    with pytest.raises(InvalidTransition) as refused:
        current.to(wanted)

    assert (refused.value.subject, refused.value.current, refused.value.wanted) == ("execution", current, wanted)


def test_only_pending_and_running_are_not_the_end() -> None:
    assert [status for status in ExecutionStatus if not status.terminal] == ["pending", "running"]
