from __future__ import annotations

from itertools import product

import pytest

from tests.domain.samples import at
from tests.makers import a_job
from tocsin.domain.errors import InvalidTransition
from tocsin.domain.job import JobStatus

ALLOWED = {
    ("pending", "active"),
    ("pending", "cancelled"),
    ("active", "paused"),
    ("active", "completed"),
    ("active", "failed"),
    ("active", "cancelled"),
    ("paused", "active"),
    ("paused", "completed"),
    ("paused", "cancelled"),
    ("completed", "active"),
    ("failed", "active"),
}
PAIRS = list(product(JobStatus, JobStatus))


def test_the_table_knows_every_status() -> None:
    assert {status.value for status in JobStatus} == {name for pair in ALLOWED for name in pair}


@pytest.mark.parametrize(("current", "wanted"), [pair for pair in PAIRS if pair in ALLOWED])
def test_a_job_takes_the_steps_of_the_table(current: JobStatus, wanted: JobStatus) -> None:
    assert a_job(status=current).to(wanted, at(0)).status is wanted


@pytest.mark.parametrize(("current", "wanted"), [pair for pair in PAIRS if pair not in ALLOWED])
def test_a_job_takes_no_other_step_and_says_both_ends_of_it(current: JobStatus, wanted: JobStatus) -> None:
    with pytest.raises(InvalidTransition) as refused:
        a_job(status=current).to(wanted, at(0))

    assert (refused.value.subject, refused.value.current, refused.value.wanted) == ("job", current, wanted)


@pytest.mark.parametrize(("current", "wanted"), [pair for pair in PAIRS if pair in ALLOWED])
def test_a_step_keeps_next_run_only_into_active_and_dates_only_the_end_it_leads_to(
    current: JobStatus, wanted: JobStatus
) -> None:
    job = a_job(status=current, next_run=at(60), completed_at=at(1)).to(wanted, at(5))

    assert job.next_run == (at(60) if wanted is JobStatus.ACTIVE else None)
    assert job.completed_at == (at(5) if wanted in {JobStatus.COMPLETED, JobStatus.FAILED} else None)
    assert job.cancelled_at == (at(5) if wanted is JobStatus.CANCELLED else None)
