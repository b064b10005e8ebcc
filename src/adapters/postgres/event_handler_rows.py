"""Event handlers as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from ...domain.event import Call, EventHandler, HandlerCounters
from ...domain.event_documents import handler_document, handler_from_document
from ...domain.facts import EXECUTION_STARTED
from ...domain.json import encoded
from ...domain.patterns import matches
from .transaction import Parameters, Row

_SAME: Final = ("id", "tenant_id", "version", "created_by", "created_at", "updated_at")
_NUMBERS: Final = ("triggered", "matched", "succeeded", "failed")


def handler_row(handler: EventHandler) -> Parameters:
    """Write a whole event handler, but for its counters."""
    action = handler.definition.action
    return {
        **{name: getattr(handler, name) for name in _SAME},
        "job_id": action.job_id if isinstance(action, Call) else None,
        "definition": encoded(handler_document(handler.definition)),
    }


def handler_of(row: Row) -> EventHandler:
    """Read a whole event handler."""
    return EventHandler(
        **{name: row[name] for name in _SAME},
        definition=handler_from_document(json.loads(row["definition"])),
        counters=HandlerCounters(**{name: row[name] for name in _NUMBERS}, last_triggered=row["last_triggered"]),
    )


def with_job(handler: EventHandler, job_id: UUID | None) -> EventHandler:
    """Name the job of its own in the action of a handler that calls directly."""
    action = handler.definition.action
    if job_id is None or not isinstance(action, Call) or action.job_id == job_id:
        return handler
    return replace(handler, definition=replace(handler.definition, action=replace(action, job_id=job_id)))


def listener_row(handler: EventHandler) -> Parameters:
    """Write that a handler listens to facts, of its tenant or of all."""
    definition = handler.definition
    return {
        "name": f"handler {handler.id}",
        "handler_id": handler.id,
        "tenant_id": None if definition.every_tenant else handler.tenant_id,
        "pattern": definition.event,
        "hears_starts": matches(definition.event, EXECUTION_STARTED),
    }


def counts_rows(counts: Mapping[UUID, HandlerCounters]) -> list[Parameters]:
    """Write what is added to the counters of handlers."""
    return [
        {
            "handler_id": handler_id,
            **{name: getattr(added, name) for name in _NUMBERS},
            "last_triggered": added.last_triggered,
        }
        for handler_id, added in counts.items()
    ]
