from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.happenings import a_handler, an_event
from tocsin.domain.event import (
    ACTION_TYPES,
    Action,
    Call,
    CancelJobs,
    CreateJob,
    Event,
    EventHandlerDefinition,
    EventOrigin,
    Publish,
    RunJob,
)
from tocsin.domain.event_documents import (
    event_document,
    event_from_document,
    handler_document,
    handler_from_document,
    impact_document,
    impact_from_document,
)
from tocsin.domain.flow import FlowControl
from tocsin.domain.impact import HandlerImpact, Impact
from tocsin.domain.json import encoded
from tocsin.domain.trace import TraceContext

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=5
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=3)
OPTIONAL = st.none() | st.text()
INSTANTS = st.datetimes(timezones=st.just(UTC))
IDS = st.lists(st.uuids(), max_size=3).map(tuple)

ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(RunJob, job_id=st.uuids(), payload=JSON),
    st.builds(CreateJob, job=OBJECTS, delay_seconds=st.integers()),
    st.builds(CancelJobs, key=OPTIONAL, tags=st.lists(st.text()).map(tuple)),
    st.builds(Call, handler_name=st.text(), payload=JSON, options=OBJECTS, job_id=st.none() | st.uuids()),
    st.builds(Publish, name=st.text(), data=JSON, subject=OPTIONAL),
)
HANDLERS = st.builds(
    EventHandlerDefinition,
    event=st.text(),
    action=ACTIONS,
    name=OPTIONAL,
    key=OPTIONAL,
    filter=OPTIONAL,
    priority=st.integers(),
    enabled=st.booleans(),
    every_tenant=st.booleans(),
    flow=st.from_type(FlowControl),
)
IMPACTS = st.builds(
    Impact,
    handlers=st.lists(
        st.builds(
            HandlerImpact,
            handler_version=st.integers(),
            reason=OPTIONAL,
            execution_ids=IDS,
            job_ids=IDS,
            event_ids=IDS,
            replayed_at=st.none() | INSTANTS,
        ),
        max_size=3,
    ).map(tuple),
    others=st.integers(),
    stopped=OPTIONAL,
)
TRACES = st.builds(
    TraceContext,
    trace_id=st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}"),
    span_id=st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}"),
    flags=st.integers(0, 255),
    tracestate=st.sampled_from([None, "a=1", "a=1,b@c=2"]),
)
EVENTS = st.builds(
    Event,
    id=st.uuids(),
    tenant_id=st.text(),
    name=st.text(),
    data=JSON,
    received_at=INSTANTS,
    time=INSTANTS,
    origin=st.sampled_from(EventOrigin),
    trace=TRACES,
    source=OPTIONAL,
    idempotency_key=OPTIONAL,
    attributes=OBJECTS,
    cause=st.none() | st.uuids(),
    depth=st.integers(),
    impact=st.none() | IMPACTS,
)


def stored(document: dict[str, Any]) -> Any:  # noqa: ANN401 - a document as it is read again
    return json.loads(encoded(document))


@given(HANDLERS)
def test_a_definition_comes_back_from_its_document(definition: EventHandlerDefinition) -> None:
    assert handler_from_document(stored(handler_document(definition))) == definition


@given(IMPACTS)
def test_an_impact_comes_back_from_its_document(impact: Impact) -> None:
    assert impact_from_document(stored(impact_document(impact))) == impact


@given(EVENTS)
def test_an_event_comes_back_from_its_document(event: Event) -> None:
    assert event_from_document(stored(event_document(event))) == event


@given(HANDLERS, HANDLERS)
def test_the_document_of_a_handler_has_every_field_in_one_order(
    one: EventHandlerDefinition, other: EventHandlerDefinition
) -> None:
    assert list(handler_document(one)) == list(handler_document(other))
    assert set(handler_document(one)) == set(EventHandlerDefinition.__slots__)


def test_an_action_is_named_by_its_type() -> None:
    document = handler_document(a_handler().definition)

    assert document["action"] == {"type": "cancel_jobs", "key": "any", "tags": []}
    assert len(ACTION_TYPES) == 5


def test_an_impact_that_says_nothing_takes_no_room() -> None:
    assert impact_document(Impact()) == {}
    assert event_document(an_event(impact=Impact()))["impact"] == {}
    assert event_document(an_event())["impact"] is None


def test_what_a_later_version_added_is_passed_over() -> None:
    event, definition = an_event(impact=Impact(others=1)), a_handler().definition
    handler, told = stored(handler_document(definition)), stored(event_document(event))
    handler["flow"]["new"] = handler["action"]["new"] = handler["new"] = told["new"] = told["impact"]["new"] = 1

    assert handler_from_document(handler) == definition
    assert event_from_document(told) == event


PUBLISH = {"type": "publish", "name": "b"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "must be an object"),
        ({}, "event: is missing"),
        ({"event": 1, "action": PUBLISH}, "event: must be a text, not int"),
        ({"event": "a", "action": {"type": "other"}}, "action: type must be one of run_job"),
        ({"event": "a", "action": {"type": []}}, "action: type must be one of run_job"),
        ({"event": "a", "action": {"type": "run_job"}}, "action: job_id: is missing"),
        ({"event": "a", "action": {"type": "run_job", "job_id": "7"}}, "action: job_id: "),
        ({"event": "a", "action": PUBLISH, "priority": True}, "priority: must be a whole number, not bool"),
        ({"event": "a", "action": PUBLISH, "priority": 1.0}, "priority: must be a whole number, not float"),
        ({"event": "a", "action": PUBLISH, "enabled": 1}, "enabled: must be true or false, not int"),
        ({"event": "a", "action": PUBLISH, "mode": "later"}, "mode: 'later'"),
        ({"event": "a", "action": PUBLISH, "flow": {"batch": {"size": 2}}}, "flow: batch: seconds: is missing"),
        ({"event": "a", "action": {"type": "cancel_jobs", "tags": "ab"}}, "action: tags: must be a list"),
    ],
)
def test_what_is_no_definition_says_where(document: Any, message: str) -> None:  # noqa: ANN401 - whatever was stored
    with pytest.raises(ValueError, match=message):
        handler_from_document(document)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("traceparent", "00-x", "trace: traceparent is malformed"),
        ("traceparent", None, "trace: must be a text"),
        ("time", "2026-01-01T00:00:00", "time: has no UTC offset"),
        ("time", "noon", "time: "),
        ("id", "7", "id: "),
        ("attributes", [], "attributes: must be an object"),
    ],
)
def test_what_is_no_event_says_where(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        event_from_document({**event_document(an_event()), field: value})
