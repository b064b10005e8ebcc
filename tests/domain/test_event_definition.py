from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given

from tests.domain.test_event_documents import JSON
from tocsin.domain.errors import InvalidEvent, InvalidEventHandler
from tocsin.domain.event import (
    Call,
    CancelJobs,
    CreateJob,
    EventHandlerDefinition,
    EventHandlerMode,
    JobKeyConflict,
    NewEvent,
    Publish,
    RunJob,
)
from tocsin.domain.event_definition import expressions_of, validate_event, validate_handler
from tocsin.domain.flow import Batch, Debounce, FlowControl, Rate
from tocsin.domain.json import EVENT_LIMIT, PAYLOAD_LIMIT, Json, NotStorable, storable

RUN = RunJob(job_id=UUID(int=1))
WAITS = Debounce(seconds=5)


def a_rule(**fields: object) -> EventHandlerDefinition:
    """Run a job for each order."""
    return replace(EventHandlerDefinition(event="order.*", action=RUN), **cast("dict[str, Any]", fields))


def creating(**job: Json) -> CreateJob:
    """Make a job, of these fields beside those that it needs."""
    return CreateJob(job={"name": "escalate", "handler_name": "mail", **job})


def faults(definition: EventHandlerDefinition) -> list[str]:
    """Name the fields that are refused."""
    with pytest.raises(InvalidEventHandler) as refusal:
        validate_handler(definition)
    return [error.field for error in refusal.value.errors]


@pytest.mark.parametrize(
    "definition",
    [
        a_rule(),
        a_rule(event="**", name="n", key="k", filter="event.data.id > 7", priority=0, mode="sync", every_tenant=True),
        a_rule(flow=FlowControl(key="event.data.id", dedupe_seconds=1, rate_limit=Rate(limit=1, seconds=86_400))),
        a_rule(flow=FlowControl(debounce=Debounce(seconds=5, max_seconds=5)), priority=100),
        a_rule(flow=FlowControl(batch=Batch(size=2, seconds=1), rate_limit=Rate(limit=100_000, seconds=1))),
        a_rule(action=creating(key="o-{{ event.data.id }}", priority="{{ event.depth }}", tags=["a", "{{ b }}"])),
        a_rule(action=creating(metadata="{{ event.data }}", payload={"to": "{{ event.data.mail }}"})),
        a_rule(action=CreateJob(job={"name": "a", "handler_name": "b"}, delay_seconds=31_536_000)),
        a_rule(action=CancelJobs(key="o-{{ event.data.id }}" + " " * 100)),
        a_rule(action=CancelJobs(tags=("a", "{{ event.name }}"))),
        a_rule(action=Call(handler_name="f", options={"max_retries": 0, "backoff": "fixed", "tags": ["a"]})),
        a_rule(action=Publish(name="order.{{ event.data.state }}", subject="{{ event.subject }}", data=[1])),
    ],
)
def test_a_sound_definition_is_kept_as_it_is(definition: EventHandlerDefinition) -> None:
    assert validate_handler(definition) == definition
    assert validate_handler(validate_handler(definition)) == definition


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"event": "a..b"}, ["event"]),
        ({"event": 7}, ["event"]),
        ({"name": "", "key": "k" * 129, "filter": ""}, ["name", "key", "filter"]),
        ({"mode": "later", "priority": 101}, ["mode", "priority"]),
        ({"priority": True, "enabled": 1, "every_tenant": None}, ["priority", "enabled", "every_tenant"]),
        ({"action": None}, ["action"]),
        ({"flow": {}}, ["flow"]),
    ],
)
def test_every_field_that_breaks_a_bound_is_named(fields: Mapping[str, object], named: list[str]) -> None:
    assert faults(a_rule(**fields)) == named


@pytest.mark.parametrize(
    ("flow", "named"),
    [
        (FlowControl(key=""), ["flow.key"]),
        (FlowControl(dedupe_seconds=2_592_001), ["flow.dedupe_seconds"]),
        (FlowControl(rate_limit=Rate(limit=0, seconds=0)), ["flow.rate_limit.limit", "flow.rate_limit.seconds"]),
        (FlowControl(throttle=Rate(limit=100_001, seconds=1)), ["flow.throttle.limit"]),
        (FlowControl(debounce=Debounce(seconds=86_401)), ["flow.debounce.seconds"]),
        (FlowControl(debounce=Debounce(seconds=5, max_seconds=4)), ["flow.debounce.max_seconds"]),
        (FlowControl(batch=Batch(size=1, seconds=True)), ["flow.batch.size", "flow.batch.seconds"]),
        (FlowControl(debounce=cast("Any", Rate(limit=1, seconds=1))), ["flow.debounce"]),
        (FlowControl(throttle=Rate(limit=1, seconds=1), debounce=WAITS), ["flow"]),
        (FlowControl(debounce=WAITS, batch=Batch(size=2, seconds=1)), ["flow"]),
    ],
)
def test_limits_have_bounds_and_only_one_of_them_waits(flow: FlowControl, named: list[str]) -> None:
    assert faults(a_rule(flow=flow)) == named


@pytest.mark.parametrize(
    "flow",
    [
        FlowControl(throttle=Rate(limit=1, seconds=1)),
        FlowControl(debounce=WAITS),
        FlowControl(batch=Batch(size=2, seconds=1)),
    ],
)
def test_nobody_waits_for_what_is_held(flow: FlowControl) -> None:
    assert faults(a_rule(flow=flow, mode=EventHandlerMode.SYNC)) == ["mode"]


@pytest.mark.parametrize(
    ("action", "named"),
    [
        (RunJob(job_id=cast("Any", "7")), ["action.job_id"]),
        (RunJob(job_id=UUID(int=1), payload="x" * PAYLOAD_LIMIT), ["action.payload"]),
        (RunJob(job_id=UUID(int=1), payload={"a": ["{{ b"]}), ["action.payload"]),
        (RunJob(job_id=UUID(int=1), payload=["{{ a }}"] * 101), ["action.payload"]),
        (CreateJob(job={}), ["action.job.name", "action.job.handler_name"]),
        (CreateJob(job=cast("Any", [])), ["action.job"]),
        (creating(type="cron", schedule="* * * * *"), ["action.job.type", "action.job.schedule"]),
        (creating(timezone="UTC", other=1), ["action.job.timezone", "action.job.other"]),
        (
            creating(max_retries=-1, key=7, metadata=[]),
            ["action.job.max_retries", "action.job.key", "action.job.metadata"],
        ),
        (creating(tags=["{{ a }}", ""]), ["action.job.tags"]),
        (creating(tags="{{ a }}"), ["action.job.tags"]),
        (creating(tags=None), ["action.job.tags"]),
        (creating(name="{{ }}"), ["action.job.name"]),
        (creating(description="{{ a }}" * 60, payload="{{ a }}" * 60), ["action"]),
        (replace(creating(), delay_seconds=31_536_001), ["action.delay_seconds"]),
        (
            replace(creating(), delay_seconds=-1, on_conflict=cast("Any", "fail")),
            ["action.delay_seconds", "action.on_conflict"],
        ),
        (CancelJobs(), ["action"]),
        (CancelJobs(key=""), ["action.key"]),
        (CancelJobs(key="k" * 129), ["action.key"]),
        (CancelJobs(tags=("t" * 65,)), ["action.tags"]),
        (CancelJobs(tags=cast("Any", "ab")), ["action.tags"]),
        (Call(handler_name="", handler_type="other"), ["action.handler_name", "action.handler_type"]),
        (
            Call(handler_name="f", options={"timeout_ms": 1, "key": "k"}),
            ["action.options.key", "action.options.timeout_ms"],
        ),
        (Call(handler_name="f", options={"tags": "a"}), ["action.options.tags"]),
        (Call(handler_name="f", options=cast("Any", None)), ["action.options"]),
        (Publish(name="tocsin.job.created"), ["action.name"]),
        (Publish(name="tocsin.{{ event.name }}"), ["action.name"]),
        (Publish(name="a b"), ["action.name"]),
        (Publish(name="a", subject="", data=cast("Any", object())), ["action.subject", "action.data"]),
    ],
)
def test_every_fault_of_an_action_is_named_by_its_path(action: object, named: list[str]) -> None:
    assert faults(a_rule(action=action)) == named


def test_a_bound_is_told_with_its_field() -> None:
    with pytest.raises(InvalidEventHandler, match=r"action\.options\.timeout_ms: must be between 1000 and 604800000"):
        validate_handler(a_rule(action=Call(handler_name="f", options={"timeout_ms": 1})))


def test_what_is_kept_is_storable_and_of_its_kind() -> None:
    action = replace(creating(payload={"a": float("nan"), "b": "\0"}), on_conflict=cast("Any", "replace"))

    kept = validate_handler(a_rule(action=action, mode="sync"))

    assert kept.mode is EventHandlerMode.SYNC
    assert isinstance(kept.action, CreateJob)
    assert kept.action.on_conflict is JobKeyConflict.REPLACE
    assert kept.action.job["payload"] == {"a": None, "b": "\ufffd"}


def test_every_expression_is_named_with_its_field() -> None:
    action = creating(key="{{ a }}-{{ b }}", payload={"x": ["{{ c }}", "{{{{ d }}"], "{{ e }}": 1}, tags=["{{ a }}"])
    definition = a_rule(action=action, filter="f", flow=FlowControl(key="g", dedupe_seconds=1))

    assert list(expressions_of(definition)) == [
        ("filter", "f"),
        ("flow.key", "g"),
        ("action.job.key", "a"),
        ("action.job.key", "b"),
        ("action.job.payload", "c"),
        ("action.job.tags", "a"),
    ]


@pytest.mark.parametrize(
    ("action", "expressions"),
    [
        (RunJob(job_id=UUID(int=1), payload="{{ a }}"), [("action.payload", "a")]),
        (Call(handler_name="f", payload=["{{ a }}"], options={"description": "{{ b }}"}), [("action.payload", "a")]),
        (CancelJobs(key="{{ a }}", tags=("{{ b }}",)), [("action.key", "a"), ("action.tags", "b")]),
        (
            Publish(name="{{ a }}", data="{{ b }}", subject="{{ c }}"),
            [("action.name", "a"), ("action.subject", "c"), ("action.data", "b")],
        ),
    ],
)
def test_templates_are_where_the_action_has_them(action: object, expressions: list[tuple[str, str]]) -> None:
    assert list(expressions_of(validate_handler(a_rule(action=action)))) == expressions


@given(JSON)
def test_whatever_stands_where_an_object_is_expected_is_refused_in_words(value: Json) -> None:
    actions = (CreateJob(job=cast("Any", value)), Call(handler_name="f", options=cast("Any", value)))
    for action in actions:
        if not (isinstance(action, Call) and value == {}):
            assert faults(a_rule(action=action))


def refused(**fields: object) -> list[str]:
    """Name the fields of an event that are refused."""
    with pytest.raises(InvalidEvent) as refusal:
        validate_event(NewEvent(**{"name": "order.paid", **cast("dict[str, Any]", fields)}))
    return [error.field for error in refusal.value.errors]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"name": "a..b"}, ["name"]),
        ({"name": "tocsin.job.created"}, ["name"]),
        ({"name": "tocsin.job.created", "source": "", "data": b"x"}, ["name", "source", "data"]),
        ({"name": None}, ["name"]),
        ({"source": "", "subject": "s" * 2049}, ["source", "subject"]),
        ({"idempotency_key": "k" * 256, "correlation_id": "\0"}, ["idempotency_key", "correlation_id"]),
        ({"time": datetime(2026, 1, 1)}, ["time"]),  # noqa: DTZ001 - what is refused
        ({"time": "2026-01-01T00:00:00Z"}, ["time"]),
        ({"time": datetime(1, 1, 1, tzinfo=UTC)}, ["time"]),
        ({"origin": "nowhere"}, ["origin"]),
        ({"data": object()}, ["data"]),
        ({"data": "x" * EVENT_LIMIT}, ["data"]),
        ({"attributes": {"Upper": 1, "with-dash": 1, "": 1}}, ["attributes"] * 3),
        ({"attributes": {"a": [], "b": 2**53 + 1, "c": float("nan"), "d": "\0"}}, [f"attributes.{x}" for x in "abcd"]),
        ({"attributes": {f"a{number}": 1 for number in range(65)}}, ["attributes"]),
        ({"attributes": []}, ["attributes"]),
    ],
)
def test_every_fault_of_an_event_is_named(fields: Mapping[str, object], named: list[str]) -> None:
    assert refused(**fields) == named


def test_an_event_may_have_a_mebibyte_of_data() -> None:
    data = "x" * (EVENT_LIMIT - 2)

    assert validate_event(NewEvent(name="a", data=data)).data == data


def test_an_event_is_kept_storable_without_attributes_that_say_nothing() -> None:
    kept = validate_event(
        NewEvent(name="a", data=("\0", float("inf")), attributes={"n": None, "x": 1.5, "y": "", "z": False})
    )

    assert (kept.data, kept.attributes) == (["\ufffd", None], {"x": 1.5, "y": "", "z": False})


@given(JSON)
def test_any_json_may_be_data(data: Json) -> None:
    try:
        kept = storable(data, limit=EVENT_LIMIT)
    except NotStorable:
        assert refused(data=data) == ["data"]
    else:
        assert validate_event(NewEvent(name="a", data=data)).data == kept
