"""Events as rows, and back; what waits of them, and what is remembered of their keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from ...domain.event import Event, EventOrigin
from ...domain.event_documents import event_document, event_from_document, impact_document, impact_from_document
from ...domain.flow import FlowState, Gathering
from ...domain.impact import Impact
from ...domain.json import Json, document_of, document_text, encoded
from ...domain.resolution import FlowKey, Held
from ...domain.trace import TraceContext
from .transaction import Parameters, Row

_SAME: Final = (
    "id",
    "tenant_id",
    "name",
    "source",
    "subject",
    "idempotency_key",
    "received_at",
    "depth",
    "cause",
    "correlation_id",
    "parent_span_id",
)
"""The fields that a row holds as they are."""


def event_row(event: Event) -> Parameters:
    """Write a whole event."""
    return {
        **{name: getattr(event, name) for name in _SAME},
        **impact_row(event),
        "origin": event.origin.value,
        "occurred_at": event.time,
        "trace_id": event.trace.trace_id,
        "span_id": event.trace.span_id,
        "trace_flags": event.trace.flags,
        "tracestate": event.trace.tracestate,
        "attributes": encoded(event.attributes),
        "data": document_text(event.data),
    }


def impact_row(event: Event) -> Parameters:
    """Write what an event has touched."""
    impact = event.impact or Impact()
    return {"id": event.id, "matched": impact.matched, "impact": encoded(impact_document(impact))}


def event_of(row: Row) -> Event:
    """Read a whole event."""
    return Event(
        **{name: row[name] for name in _SAME},
        origin=EventOrigin(row["origin"]),
        time=row["occurred_at"],
        trace=TraceContext(
            trace_id=row["trace_id"],
            span_id=row["span_id"],
            flags=row["trace_flags"],
            tracestate=row["tracestate"],
        ),
        attributes=cast("Mapping[str, Json]", document_of(row["attributes"])),
        data=document_of(row["data"]),
        impact=impact_from_document(json.loads(row["impact"])),
    )


def outgoing_row(event: Event) -> Parameters:
    """Write an event that is let out."""
    return {"tenant_id": event.tenant_id, "event": encoded(event_document(event))}


def outgoing_of(row: Row) -> Event:
    """Read an event that is let out."""
    return event_from_document(json.loads(row["event"]))


def gathering_of(row: Row) -> Gathering:
    """Read events that wait."""
    return Gathering(
        id=row["id"],
        event_ids=tuple(row["event_ids"]),
        first_at=row["first_at"],
        due_at=row["due_at"],
        superseded=row["superseded"],
    )


def held_row(held: Held) -> Parameters:
    """Write events that wait; their ids as the text of one array."""
    return {
        "id": held.gathering.id,
        "handler_id": held.handler_id,
        "flow_key": held.flow_key,
        "tenant_id": held.tenant_id,
        "event_ids": f"{{{','.join(map(str, held.gathering.event_ids))}}}",
        "first_at": held.gathering.first_at,
        "due_at": held.gathering.due_at,
        "superseded": held.gathering.superseded,
    }


def flow_row(key: FlowKey, state: FlowState) -> Parameters:
    """Write what is remembered of a key."""
    handler_id, flow_key = key
    return {
        "handler_id": handler_id,
        "flow_key": flow_key,
        "seen_until": state.seen_until,
        "rate_limit_at": state.rate_limit_at,
        "throttle_at": state.throttle_at,
        "gathering_id": None if state.gathering is None else state.gathering.id,
    }


def flow_of(row: Row, gatherings: Mapping[Any, Gathering]) -> FlowState:
    """Read what is remembered of a key, with its open gathering, if it has one."""
    return FlowState(
        seen_until=row["seen_until"],
        rate_limit_at=row["rate_limit_at"],
        throttle_at=row["throttle_at"],
        gathering=gatherings.get(row["gathering_id"]),
    )
