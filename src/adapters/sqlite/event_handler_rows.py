"""Event handlers as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Final
from uuid import UUID

from ...domain.event import Call, EventHandler, HandlerCounters
from ...domain.event_documents import handler_document, handler_from_document
from ...domain.facts import may_be_fact
from ...domain.json import encoded
from .instants import from_micros, to_micros
from .readable import readable
from .transaction import Parameters, Row

_COUNTS: Final = tuple(field.name for field in fields(HandlerCounters) if field.name != "last_triggered")


def handler_row(handler: EventHandler) -> Parameters:
    """Write a whole handler, but for its counters."""
    job_id = own_job(handler)
    return {
        "id": str(handler.id),
        "tenant_id": handler.tenant_id,
        "version": handler.version,
        "created_by": handler.created_by,
        "created_at": to_micros(handler.created_at),
        "updated_at": to_micros(handler.updated_at),
        "job_id": None if job_id is None else str(job_id),
        "definition": encoded(handler_document(handler.definition)),
    }


def handler_of(row: Row) -> EventHandler:
    """Read a handler, with its counters if the row has them."""
    return EventHandler(
        id=UUID(row["id"]),
        tenant_id=row["tenant_id"],
        definition=handler_from_document(json.loads(row["definition"])),
        created_at=from_micros(row["created_at"]),
        updated_at=from_micros(row["updated_at"]),
        created_by=row["created_by"],
        version=row["version"],
        counters=HandlerCounters(
            **{name: row.get(name, 0) for name in _COUNTS}, last_triggered=from_micros(row.get("last_triggered"))
        ),
    )


def readable_handlers(rows: Iterable[Row]) -> list[EventHandler]:
    """Read handlers, leaving out what somebody else wrote and nobody can read: it hinders no other handler."""
    return [handler for _, handler in readable(rows, handler_of)]


def counts_row(handler_id: UUID, more: HandlerCounters) -> Parameters:
    """Write what is added to the counters of a handler."""
    counts = {name: getattr(more, name) for name in _COUNTS}
    return {"handler_id": str(handler_id), **counts, "last_triggered": to_micros(more.last_triggered)}


def listener_row(handler: EventHandler) -> Parameters | None:
    """Write to which facts a handler listens; None if to none."""
    definition = handler.definition
    if not definition.enabled or not may_be_fact(definition.event):
        return None
    return {
        "name": f"event_handler/{handler.id}",
        "handler_id": str(handler.id),
        "tenant_id": None if definition.every_tenant else handler.tenant_id,
        "pattern": definition.event,
        "since": None,
        "expires_at": None,
    }


def own_job(handler: EventHandler) -> UUID | None:
    """Tell which job a handler has for itself alone, if its action is to call."""
    action = handler.definition.action
    return action.job_id if isinstance(action, Call) else None


def owning(handler: EventHandler, job_id: UUID | None) -> EventHandler:
    """Name the job of its own in the action that has one."""
    definition = handler.definition
    if not isinstance(definition.action, Call):
        return handler
    return replace(handler, definition=replace(definition, action=replace(definition.action, job_id=job_id)))
