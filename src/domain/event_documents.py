"""
Events, event handlers and impacts in their form as documents: at rest, on the wire and in the outbox.

Fields have their own names; instants are ISO 8601 in UTC, UUIDs text, choices their values. Every `…_from_document`
takes defaults for what is missing and passes over what a later version may have added, but takes no other type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from .event import (
    ACTION_NAMES,
    ACTION_TYPES,
    Action,
    Call,
    CancelJobs,
    CreateJob,
    Event,
    EventHandlerDefinition,
    EventHandlerMode,
    EventOrigin,
    JobKeyConflict,
    Publish,
    RunJob,
)
from .fields import (
    Reader,
    Written,
    a_flag,
    a_text,
    a_whole_number,
    an_id,
    an_instant,
    an_object,
    anything,
    each,
    fields_of,
    one_of,
    or_none,
    telling_fields_of,
)
from .flow import Batch, Debounce, FlowControl, Rate
from .impact import HandlerImpact, Impact, Touch
from .json import Json
from .trace import TraceContext, read_trace_context


def handler_document(definition: EventHandlerDefinition) -> dict[str, Json]:
    """Write a definition with every field, in their order; the action is named by its `type`."""
    return fields_of(definition, names=ACTION_NAMES)


def handler_from_document(written: Mapping[str, Any]) -> EventHandlerDefinition:
    """
    Read what `handler_document` wrote.

    Raises:
        ValueError: it is no definition; the message names the field.
    """
    return _handler(written)


def impact_document(impact: Impact) -> dict[str, Json]:
    """Write an impact without the fields that say nothing."""
    handlers: list[Json] = [telling_fields_of(told) for told in impact.handlers]
    return telling_fields_of(impact) | ({"handlers": handlers} if handlers else {})


def impact_from_document(written: Mapping[str, Any]) -> Impact:
    """
    Read what `impact_document` wrote.

    Raises:
        ValueError: it is no impact; the message names the field.
    """
    return _impact(written)


def event_document(event: Event) -> dict[str, Json]:
    """Write an event with every field; its trace as `traceparent` and `tracestate` (W3C Trace Context)."""
    told = fields_of(replace(event, impact=None), names={})
    del told["trace"]
    trace: dict[str, Json] = {"traceparent": event.trace.traceparent, "tracestate": event.trace.tracestate}
    return {**told, **trace, "impact": None if event.impact is None else impact_document(event.impact)}


def event_from_document(written: Mapping[str, Any]) -> Event:
    """
    Read what `event_document` wrote.

    Raises:
        ValueError: it is no event; the message names the field.
    """
    return _event({**an_object(written), "trace": written})


def _trace(written: Written) -> TraceContext:
    trace = read_trace_context(a_text(written.get("traceparent")), or_none(a_text)(written.get("tracestate")))
    if trace is None:
        raise ValueError("traceparent is malformed")
    return trace


def _action(written: Written) -> Action:
    name = an_object(written).get("type")
    if not isinstance(name, str) or name not in ACTION_TYPES:
        raise ValueError(f"type must be one of {', '.join(ACTION_TYPES)}")
    return cast("Action", _ACTIONS[ACTION_TYPES[name]](written))


_ACTIONS: Final[Mapping[type, Reader]] = {
    RunJob: one_of(RunJob, {"job_id": an_id, "payload": anything}),
    CreateJob: one_of(
        CreateJob,
        {"job": an_object, "delay_seconds": a_whole_number, "on_conflict": JobKeyConflict},
    ),
    CancelJobs: one_of(CancelJobs, {"key": or_none(a_text), "tags": each(a_text)}),
    Call: one_of(
        Call,
        {
            "handler_name": a_text,
            "handler_type": a_text,
            "payload": anything,
            "options": an_object,
            "job_id": or_none(an_id),
        },
    ),
    Publish: one_of(Publish, {"name": a_text, "data": anything, "subject": or_none(a_text)}),
}
_rate: Final = or_none(one_of(Rate, {"limit": a_whole_number, "seconds": a_whole_number}))
_debounce: Final = or_none(one_of(Debounce, {"seconds": a_whole_number, "max_seconds": or_none(a_whole_number)}))
_batch: Final = or_none(one_of(Batch, {"size": a_whole_number, "seconds": a_whole_number}))
_flow: Final = one_of(
    FlowControl,
    {
        "key": or_none(a_text),
        "dedupe_seconds": or_none(a_whole_number),
        "rate_limit": _rate,
        "throttle": _rate,
        "debounce": _debounce,
        "batch": _batch,
    },
)
_handler: Final = one_of(
    EventHandlerDefinition,
    {
        "event": a_text,
        "action": _action,
        "name": or_none(a_text),
        "key": or_none(a_text),
        "filter": or_none(a_text),
        "mode": EventHandlerMode,
        "priority": a_whole_number,
        "enabled": a_flag,
        "every_tenant": a_flag,
        "flow": _flow,
    },
)
_handler_impact: Final = one_of(
    HandlerImpact,
    {
        "handler_id": an_id,
        "handler_version": a_whole_number,
        "touch": Touch,
        "action": a_text,
        "reason": or_none(a_text),
        "execution_ids": each(an_id),
        "job_ids": each(an_id),
        "event_ids": each(an_id),
        "replayed_at": or_none(an_instant),
    },
)
_impact: Final = one_of(
    Impact, {"handlers": each(_handler_impact), "others": a_whole_number, "stopped": or_none(a_text)}
)
_event: Final = one_of(
    Event,
    {
        "id": an_id,
        "tenant_id": a_text,
        "name": a_text,
        "data": anything,
        "received_at": an_instant,
        "time": an_instant,
        "origin": EventOrigin,
        "trace": _trace,
        "parent_span_id": or_none(a_text),
        "source": or_none(a_text),
        "subject": or_none(a_text),
        "idempotency_key": or_none(a_text),
        "attributes": an_object,
        "correlation_id": or_none(a_text),
        "cause": or_none(an_id),
        "depth": a_whole_number,
        "impact": or_none(_impact),
    },
)
