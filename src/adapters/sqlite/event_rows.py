"""Events, keys of flow control and gatherings as rows, and back."""

from __future__ import annotations

import json
from uuid import UUID

from ...domain.event import Event, EventOrigin
from ...domain.event_documents import impact_document, impact_from_document
from ...domain.fields import an_object
from ...domain.flow import FlowState, Gathering
from ...domain.impact import Impact
from ...domain.json import document_of, document_text, encoded
from ...domain.resolution import FlowKey, Held
from ...domain.trace import TraceContext
from .instants import from_micros, to_micros
from .transaction import Parameters, Row, array


def event_row(event: Event) -> Parameters:
    """Write a whole event."""
    return {
        **impact_row(event),
        "tenant_id": event.tenant_id,
        "name": event.name,
        "source": event.source,
        "subject": event.subject,
        "origin": event.origin.value,
        "idempotency_key": event.idempotency_key,
        "occurred_at": to_micros(event.time),
        "received_at": to_micros(event.received_at),
        "depth": event.depth,
        "cause": None if event.cause is None else str(event.cause),
        "correlation_id": event.correlation_id,
        "trace_id": event.trace.trace_id,
        "span_id": event.trace.span_id,
        "parent_span_id": event.parent_span_id,
        "trace_flags": event.trace.flags,
        "tracestate": event.trace.tracestate,
        "attributes": encoded(event.attributes),
        "data": document_text(event.data),
    }


def impact_row(event: Event) -> Parameters:
    """Write what an event touched."""
    impact = event.impact or Impact()
    return {"id": str(event.id), "matched": impact.matched, "impact": encoded(impact_document(impact))}


def event_of(row: Row) -> Event:
    """Read a whole event."""
    return Event(
        id=UUID(row["id"]),
        tenant_id=row["tenant_id"],
        name=row["name"],
        data=document_of(row["data"]),
        received_at=from_micros(row["received_at"]),
        time=from_micros(row["occurred_at"]),
        origin=EventOrigin(row["origin"]),
        trace=TraceContext(
            trace_id=row["trace_id"],
            span_id=row["span_id"],
            flags=row["trace_flags"],
            tracestate=row["tracestate"],
        ),
        parent_span_id=row["parent_span_id"],
        source=row["source"],
        subject=row["subject"],
        idempotency_key=row["idempotency_key"],
        attributes=an_object(json.loads(row["attributes"])),
        correlation_id=row["correlation_id"],
        cause=None if row["cause"] is None else UUID(row["cause"]),
        depth=row["depth"],
        impact=impact_from_document(json.loads(row["impact"])),
    )


def flow_row(key: FlowKey, state: FlowState) -> Parameters:
    """Write what is remembered of a key; one that remembers nothing has expired ever since."""
    handler_id, flow_key = key
    ends = [to_micros(end) for end in (state.seen_until, state.rate_limit_at, state.throttle_at) if end is not None]
    return {
        "handler_id": str(handler_id),
        "flow_key": flow_key,
        "seen_until": to_micros(state.seen_until),
        "rate_limit_at": to_micros(state.rate_limit_at),
        "throttle_at": to_micros(state.throttle_at),
        "gathering_id": None if state.gathering is None else str(state.gathering.id),
        "expires_at": max(ends, default=0),
    }


def flow_of(row: Row) -> FlowState:
    """Read what is remembered of a key."""
    return FlowState(
        seen_until=from_micros(row["seen_until"]),
        rate_limit_at=from_micros(row["rate_limit_at"]),
        throttle_at=from_micros(row["throttle_at"]),
        gathering=None if row["id"] is None else gathering_of(row),
    )


def gathering_row(held: Held) -> Parameters:
    """Write a gathering."""
    gathering = held.gathering
    return {
        "id": str(gathering.id),
        "handler_id": str(held.handler_id),
        "flow_key": held.flow_key,
        "tenant_id": held.tenant_id,
        "event_ids": array(gathering.event_ids),
        "first_at": to_micros(gathering.first_at),
        "due_at": to_micros(gathering.due_at),
        "superseded": gathering.superseded,
    }


def gathering_of(row: Row) -> Gathering:
    """Read a gathering."""
    return Gathering(
        id=UUID(row["id"]),
        event_ids=tuple(map(UUID, json.loads(row["event_ids"]))),
        first_at=from_micros(row["first_at"]),
        due_at=from_micros(row["due_at"]),
        superseded=row["superseded"],
    )
