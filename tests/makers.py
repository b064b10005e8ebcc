"""Values as tests need them: sound by default, and only what matters named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from tocsin.adapters.calendar import CroniterCalendar
from tocsin.adapters.system import Uuid7Sequence
from tocsin.domain.attempt import Attempt, Finish, Outcome, settle
from tocsin.domain.definition import FIELD_NAMES
from tocsin.domain.event import Event, EventHandler, EventHandlerDefinition, EventOrigin, Publish
from tocsin.domain.execution import ExecutionStatus, JobExecution, SkipReason
from tocsin.domain.fan_out import fan_out
from tocsin.domain.firing import fire, next_fire
from tocsin.domain.job import DEFAULT_TENANT, JobDefinition, JobType, ScheduledJob
from tocsin.domain.lifecycle import Moment
from tocsin.domain.new_execution import new_execution
from tocsin.domain.occurrences import OccurrenceSource
from tocsin.domain.plan import Decision, Plan
from tocsin.domain.resolution import FannedOut, Resolved, Situation
from tocsin.domain.runs import ManualRun, trigger
from tocsin.domain.timing import source_of
from tocsin.domain.trace import TraceContext, trace_of
from tocsin.ports.stores import Worker

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Where a ManualClock starts, and when the jobs made here were created."""

new_id: Final = Uuid7Sequence()

_calendar: Final = CroniterCalendar()
_OF_HANDLER: Final = frozenset(field.name for field in fields_of(EventHandlerDefinition))


def a_definition(**fields: object) -> JobDefinition:
    """A report each minute, or whatever the fields make of it."""
    minutely = JobDefinition(name="report", type=JobType.INTERVAL, schedule="every 1m", handler_name="report")
    return replace(minutely, **cast("dict[str, Any]", fields))


def a_job(**fields: object) -> ScheduledJob:
    """An active job with that definition, fields of the job or of its definition; its next_run is what it should be."""
    of_definition = {name: fields.pop(name) for name in FIELD_NAMES if name in fields}
    created_at = fields.get("created_at", START)
    defaults = {"id": new_id(cast("datetime", created_at)), "created_at": created_at, "updated_at": created_at}
    values = {"definition": a_definition(**of_definition), **defaults, **fields}
    job = ScheduledJob(**cast("dict[str, Any]", values))
    if "next_run" in fields or job.definition.type is JobType.EVENT or job.status != "active":
        return job
    return replace(job, next_run=next_fire(job, job.created_at, occurrences_of(job)))


def an_event_job(**fields: object) -> ScheduledJob:
    """A job without a timer: it runs only when told to."""
    return a_job(type=JobType.EVENT, schedule=None, **fields)


def occurrences_of(job: ScheduledJob) -> OccurrenceSource:
    """The nominal times of a job, by the real calendar."""
    return source_of(job, _calendar.wall_times)


def planner(job: ScheduledJob, now: datetime) -> Plan:
    """The real plan of a fire."""
    return fire(job, now, occurrences_of(job), new_id)


def decided(step: Callable[..., Plan], *arguments: object) -> Decision:
    """One of the steps of `domain.lifecycle` as a decision: its arguments lie between the job and the moment."""

    def decide(job: ScheduledJob, now: datetime) -> Plan:
        moment = Moment(now=now, occurrences=occurrences_of, new_id=new_id, by="tester")
        return step(job, *arguments, moment)

    return decide


def triggered(trace: TraceContext | None = None, **request: object) -> Decision:
    """A run by hand, under a span or none."""

    def decide(job: ScheduledJob, now: datetime) -> Plan:
        moment = Moment(now=now, occurrences=occurrences_of, new_id=new_id, by="tester", trace=trace)
        return trigger(job, moment, ManualRun(**cast("dict[str, Any]", request)))

    return decide


def an_event(**fields: object) -> Event:
    """An order that was created, as a caller sent it."""
    event_id = new_id(START)
    order = Event(
        id=event_id,
        tenant_id=DEFAULT_TENANT,
        name="order.created",
        data={"order": 7},
        received_at=START,
        time=START,
        origin=EventOrigin.HTTP,
        trace=trace_of(event_id),
    )
    return replace(order, **cast("dict[str, Any]", fields))


def a_handler(**fields: object) -> EventHandler:
    """An event handler that answers orders, fields of it or of its definition."""
    of_definition = {name: fields.pop(name) for name in _OF_HANDLER if name in fields}
    answering = EventHandlerDefinition(event="order.*", action=Publish(name="order.seen"))
    handler = EventHandler(
        id=new_id(START),
        tenant_id=DEFAULT_TENANT,
        definition=replace(answering, **cast("dict[str, Any]", of_definition)),
        created_at=START,
        updated_at=START,
    )
    return replace(handler, **cast("dict[str, Any]", fields))


def fanned_out(batch: Sequence[Resolved], situation: Situation) -> FannedOut:
    """The real decision about a batch of events."""
    moment = Moment(now=situation.now, occurrences=occurrences_of, new_id=new_id, by="tester")
    return fan_out(batch, situation, moment)


def an_outcome(**fields: object) -> Outcome:
    """A success after a second."""
    return replace(
        Outcome(status=ExecutionStatus.SUCCESS, duration_ms=1000, result="done"), **cast("dict[str, Any]", fields)
    )


def a_success(attempt: Attempt, **fields: object) -> Finish:
    """An attempt that went well."""
    return settle(attempt, an_outcome(**fields), chance=0)


def a_failure(attempt: Attempt, **fields: object) -> Finish:
    """An attempt that raised; whether another follows is the execution's to say."""
    raised = {"status": ExecutionStatus.FAILED, "result": None, "error": "no luck", "error_type": "ValueError"}
    return settle(attempt, an_outcome(**{**raised, **fields}), chance=0)


def executions_in_every_state(job: ScheduledJob) -> Iterator[JobExecution]:
    """One execution of a job for each status, a minute apart."""
    for minute, status in enumerate(ExecutionStatus):
        nominal = START + timedelta(minutes=minute)
        row = replace(new_execution(job, nominal, now=START, execution_id=new_id(START)), status=status)
        match status:
            case ExecutionStatus.RUNNING:
                yield replace(row, lease_expires_at=START, holds_slot=True, available_at=START)
            case ExecutionStatus.SKIPPED:
                yield replace(row, skip_reason=SkipReason.OVERLAP, covers_until=nominal, covers_count=1)
            case _:
                yield row


def a_worker(**fields: object) -> Worker:
    """A live node that runs everything."""
    worker = Worker(
        id="node-1/boot-1",
        name="node-1",
        roles=("timer", "executor", "sweeper"),
        capabilities=("function/report",),
        version="0.1.0",
        capacity=8,
        running=0,
        status="live",
        started_at=START,
        heartbeat_at=START,
    )
    return replace(worker, **cast("dict[str, Any]", fields))
