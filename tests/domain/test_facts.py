from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import RFC_4122

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at, moment
from tests.domain.stories import NOON, every_minute
from tests.makers import START, a_definition, a_job, an_event_job, executions_in_every_state
from tocsin.domain.event import Event, EventOrigin
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.facts import (
    FACTS,
    LEDGER_ANOMALY,
    Interest,
    fact_of_change,
    fact_of_execution,
    fact_of_node,
    may_be_fact,
    name_of_execution,
)
from tocsin.domain.json import encoded
from tocsin.domain.lifecycle import cancel, create, pause, update
from tocsin.domain.plan import first_version
from tocsin.domain.runs import EventRun, run_for_event
from tocsin.domain.trace import span_of, trace_of

JOB = an_event_job()
EVENT_ID = JOB.id


def an_execution(**fields: object) -> JobExecution:
    """A run for an event, in its trace, two steps down a chain."""
    run = EventRun(
        event_id=EVENT_ID,
        event_handler_id=EVENT_ID,
        payload=None,
        correlation_id="c",
        depth=2,
        trace=trace_of(EVENT_ID),
    )
    (row,) = run_for_event(JOB, moment(NOON), run).executions
    return replace(row, **fields)  # type: ignore[arg-type] # fields of an execution


def fact(execution: JobExecution) -> Event:
    told = fact_of_execution(JOB, execution, at(NOON))
    assert told is not None
    return told


@given(st.sampled_from(sorted(FACTS)), st.datetimes(min_value=START.replace(tzinfo=None)), st.text(max_size=20))
def test_one_fact_has_one_id_which_is_a_version_7_of_its_instant(name: str, now: object, subject: str) -> None:
    instant = START + (now - START.replace(tzinfo=None))  # type: ignore[operator] # a naive instant

    first, again = (fact_of_node(name, {}, "default", subject=subject, now=instant) for _ in range(2))
    later = fact_of_node(name, {}, "default", subject=subject, now=instant + timedelta(microseconds=1))

    assert first == again
    assert first.id != later.id
    assert (first.id.version, first.id.variant) == (7, RFC_4122)
    assert first.id.int >> 80 == int(instant.timestamp() * 1000)


def test_facts_of_one_instant_are_told_apart() -> None:
    facts = [
        fact(an_execution()),
        fact(an_execution(status=ExecutionStatus.RUNNING, attempt=1)),
        fact(an_execution(status=ExecutionStatus.RUNNING, attempt=2)),
        fact_of_change(first_version(JOB), JOB, at(NOON)),
        fact_of_node(LEDGER_ANOMALY, {}, "default", subject="job/1", now=at(NOON)),
    ]

    assert len({each.id for each in facts}) == len(facts)


def test_a_fact_of_an_execution_lies_in_its_trace_one_step_further_down_the_chain() -> None:
    execution = an_execution()

    told = fact(execution)

    assert (told.origin, told.source, told.subject) == (EventOrigin.FACT, "tocsin", f"execution/{execution.id}")
    assert (told.depth, told.cause, told.correlation_id) == (3, execution.id, "c")
    assert (told.trace.trace_id, told.parent_span_id) == (execution.trace_id, execution.span_id)
    assert told.trace.span_id == span_of(told.id)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "tocsin.execution.created"),
        ({"status": ExecutionStatus.RUNNING}, "tocsin.execution.started"),
        ({"attempt": 1, "next_retry_at": START}, "tocsin.execution.retrying"),
        ({"attempt": 1}, None),
        ({"status": ExecutionStatus.TIMEOUT}, "tocsin.execution.timed_out"),
        ({"status": ExecutionStatus.SUCCESS}, "tocsin.execution.succeeded"),
    ],
)
def test_how_an_execution_stands_has_a_name(fields: dict[str, object], name: str | None) -> None:
    assert name_of_execution(an_execution(**fields)) == name
    assert (fact_of_execution(JOB, an_execution(**fields), at(NOON)) is None) is (name is None)


def test_every_state_of_an_execution_is_told_in_plain_json() -> None:
    for execution in executions_in_every_state(JOB):
        told = fact(execution)

        assert told.name in FACTS
        assert isinstance(told.data, dict)
        assert told.data["status"] == execution.status
        assert {type(value) for value in told.data.values()} <= {str, int, list, type(None)}
        assert encoded(told.data)


def test_what_changes_a_job_is_a_fact() -> None:
    job = every_minute()
    plans = [
        pause(job, moment(NOON)),
        cancel(job, moment(NOON)),
        update(job, a_definition(name="other"), moment(NOON)),
    ]

    facts = [fact_of_change(plan.change, plan.job, at(NOON)) for plan in plans if plan.change]

    assert [each.name for each in facts] == ["tocsin.job.paused", "tocsin.job.cancelled", "tocsin.job.updated"]
    assert {each.subject for each in facts} == {f"job/{job.id}"}
    assert {each.name for each in facts} < FACTS


def test_the_making_of_a_job_lies_in_the_trace_in_which_it_was_made() -> None:
    span = trace_of(EVENT_ID)
    job = create(a_definition(), replace(moment(0), trace=span), tenant_id="default", paused=False)

    told = fact_of_change(first_version(job), job, at(0))

    assert (told.name, told.trace.trace_id, told.parent_span_id) == ("tocsin.job.created", span.trace_id, span.span_id)


def test_a_job_made_by_nobody_in_particular_begins_a_trace_with_its_fact() -> None:
    job = a_job()

    told = fact_of_change(first_version(job), job, at(0))

    assert (told.trace, told.parent_span_id) == (trace_of(told.id), None)


@pytest.mark.parametrize(
    ("pattern", "may"),
    [
        ("tocsin.**", True),
        ("tocsin.execution.*", True),
        ("tocsin.job.created", True),
        ("tocsin.*", False),
        ("**", False),
        ("order.*", False),
        ("tocsin.other", False),
    ],
)
def test_only_what_names_facts_can_be_about_one(pattern: str, *, may: bool) -> None:
    assert may_be_fact(pattern) is may


def test_a_fact_is_wanted_by_those_who_listen_to_its_tenant() -> None:
    interest = Interest((("a", "tocsin.job.*"), (None, "tocsin.node.lost")))

    assert interest
    assert not Interest()
    assert interest.wants("a", "tocsin.job.created")
    assert not interest.wants("b", "tocsin.job.created")
    assert interest.wants("b", "tocsin.node.lost")
    assert not interest.wants("a", "tocsin.execution.created")
