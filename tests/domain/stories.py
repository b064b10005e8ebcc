"""A job around noon, and what its stories are told with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.domain.samples import at, moment
from tests.makers import a_definition, a_job
from tocsin.domain.errors import InvalidSchedule
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import JobDefinition, JobType, ScheduledJob
from tocsin.domain.lifecycle import create
from tocsin.domain.plan import Plan, conclude
from tocsin.domain.runs import ManualRun

NOON = 43_200
PLAIN_RUN = ManualRun()


def every_minute(**fields: object) -> ScheduledJob:
    """A job at each full minute, last fired a minute before noon and due at noon."""
    fired = {"last_run": at(NOON - 60), "last_nominal": at(NOON - 60), "next_run": at(NOON)}
    return a_job(**{"schedule": "* * * * *", "type": JobType.CRON, **fired, **fields})


def once(seconds: float, **fields: object) -> JobDefinition:
    """A one_time job's definition."""
    return a_definition(type=JobType.ONE_TIME, schedule=at(seconds).isoformat(), **fields)


def created(definition: JobDefinition, seconds: float = 0, *, paused: bool = False) -> ScheduledJob:
    return create(definition, moment(seconds), tenant_id="acme", paused=paused)


def ended(
    job: ScheduledJob, row: JobExecution, status: ExecutionStatus, seconds: float
) -> tuple[ScheduledJob, JobExecution]:
    """The job and the row after an execution that held a slot ended."""
    counters = job.counters.ended(status, 1).released(1)
    return conclude(replace(job, counters=counters, outcome=status), at(seconds)), replace(
        row, status=status, holds_slot=False
    )


def refused_fields(attempt: Callable[[], object]) -> list[str]:
    with pytest.raises(InvalidSchedule) as refused:
        attempt()
    return [error.field for error in refused.value.errors]


def nominals(plan: Plan) -> list[float]:
    return [(row.scheduled_at - at(NOON)).total_seconds() for row in plan.executions]
