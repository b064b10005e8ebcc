from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.makers import START, a_job
from tocsin.domain.altered import altered
from tocsin.domain.job import ScheduledJob
from tocsin.domain.new_execution import counted, new_execution


def test_a_value_is_altered_as_replace_would_alter_it() -> None:
    job = a_job(priority=70, created_by="ada", version=3)

    changed = altered(job, next_run=START, exhausted=True)

    assert changed == replace(job, next_run=START, exhausted=True)
    assert type(changed) is ScheduledJob
    assert altered(job) == job


def test_what_a_value_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="no_such_field"):
        altered(a_job(), no_such_field=1)


@pytest.mark.parametrize("has_slot", [True, False])
def test_a_new_execution_changes_only_what_counts_it(*, has_slot: bool) -> None:
    job = a_job()
    before = replace(job.counters, executions_count=1, success_count=2, failure_count=3, consecutive_failures=4)
    before = replace(before, duration_total_ms=5, scheduled_count=6, slots_taken=7, waiting=8, live=9)
    row = new_execution(job, START, now=START + timedelta(1), execution_id=job.id, has_slot=has_slot)

    after = counted(before, row, scheduled=1)

    assert after == replace(before, scheduled_count=7, slots_taken=7 + has_slot, waiting=8 + (not has_slot), live=10)
