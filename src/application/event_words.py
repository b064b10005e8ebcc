"""How an event is worded where expressions and handlers read it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from ..domain.event import Event
from ..domain.json import Json


def worded(event: Event) -> dict[str, Json]:
    """
    Word an event for expressions, templates and payloads; every field is there, null where it has no value.

    `{"id", "name", "data", "source", "subject", "time", "tenant_id", "correlation_id", "attributes", "depth",
    "trace_id"}`.
    """
    return {
        "id": str(event.id),
        "name": event.name,
        "data": event.data,
        "source": event.source,
        "subject": event.subject,
        "time": event.time.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "tenant_id": event.tenant_id,
        "correlation_id": event.correlation_id,
        "attributes": event.attributes,
        "depth": event.depth,
        "trace_id": event.trace.trace_id,
    }


def variables_of(events: Sequence[Event]) -> dict[str, Json]:
    """Give what an expression may name: `event`, the newest, and `events`, all that were gathered, oldest first."""
    documents = [worded(event) for event in events]
    return {"event": documents[-1], "events": documents}
