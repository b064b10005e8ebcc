"""Event handlers over the wire; the bounds are those of `domain.event_definition`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from pydantic import ConfigDict, Field

from ....domain.errors import InvalidEventHandler, InvalidInput
from ....domain.event import EventHandler, EventHandlerDefinition, EventHandlerMode, HandlerCounters, RunJob
from ....domain.json import Json
from ....ports.event_requests import EventHandlerChanges
from .actions import ActionIn, ActionOut, RunJobIn, read_action, shown_action, written_action
from .fields import Flag, Key, Name, Priority, ShownInstant, Text
from .flows import FlowIn, FlowOut
from .model import Input, Output

_DEFAULTS: Final = EventHandlerDefinition(event="", action=RunJob(job_id=UUID(int=0)))


class HandlerFields(Input):
    """The fields of an event handler that may be left out."""

    refusal: ClassVar[type[InvalidInput]] = InvalidEventHandler

    name: Name | None = None
    key: Key | None = None
    filter: Text | None = Field(default=None, description="CEL over `event`; true for what is acted upon.")
    mode: EventHandlerMode = _DEFAULTS.mode
    priority: Priority = _DEFAULTS.priority
    enabled: Flag = _DEFAULTS.enabled
    flow: FlowIn = FlowIn()

    def named(self) -> dict[str, Any]:
        """Give the fields of a definition that the caller named, under their names there."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}
        if "action" in given:
            given["action"] = given["action"].action()
        if "flow" in given:
            given["flow"] = given["flow"].flow()
        return given


class EventHandlerIn(HandlerFields):
    """An event handler to add: this event, this filter, this action."""

    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
        {
            "escalate": {
                "event": "ticket.opened",
                "filter": "event.data.severity == 'high'",
                "action": {
                    "type": "create_job",
                    "delay": "48h",
                    "job": {
                        "name": "Escalate {{ event.data.ticket }}",
                        "key": "escalate-{{ event.data.ticket }}",
                        "handler_name": "tocsin.noop",
                    },
                },
            },
            "resolve": {
                "event": "ticket.resolved",
                "action": {"type": "cancel_jobs", "key": "escalate-{{ event.data.ticket }}"},
            },
            "chain": {
                "event": "tocsin.execution.succeeded",
                "filter": "event.data.job_key == 'extract'",
                "action": {
                    "type": "publish",
                    "name": "warehouse.extracted",
                    "data": {"job": "{{ event.data.job_id }}"},
                },
            },
        }
    )

    event: Text = Field(description="A pattern: * stands for one segment, ** for one or more.")
    action: ActionIn

    def definition(self) -> EventHandlerDefinition:
        """Give the event handler as the domain knows it."""
        return EventHandlerDefinition(**self.named())


def _without_defaults(schema: dict[str, Any]) -> None:
    for described in schema["properties"].values():
        described.pop("default", None)


class EventHandlerPatch(HandlerFields):
    """What to change about an event handler; a field that is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    # A patch is only ever asked which fields were named, so these defaults are never read.
    event: Text = ""
    action: ActionIn = RunJobIn(type="run_job", job_id=UUID(int=0))

    def changes(self) -> EventHandlerChanges:
        """Give the changes as the port takes them."""
        return cast("EventHandlerChanges", self.named())


class EventHandlerOut(Output):
    """An event handler with its counters in one flat object; `every_tenant` sees the events of all tenants."""

    id: UUID
    tenant_id: str
    name: str | None
    key: str | None
    event: str
    filter: str | None
    action: ActionOut
    mode: EventHandlerMode
    priority: int
    enabled: bool
    every_tenant: bool
    flow: FlowOut
    triggered: int
    matched: int
    succeeded: int
    failed: int
    last_triggered: ShownInstant | None
    created_by: str | None
    created_at: ShownInstant
    updated_at: ShownInstant
    version: int

    @classmethod
    def of(cls, handler: EventHandler) -> EventHandlerOut:
        """Show an event handler."""
        definition = {name: getattr(handler.definition, name) for name in _DEFINED}
        counters = {field.name: getattr(handler.counters, field.name) for field in fields(HandlerCounters)}
        own = {name: getattr(handler, name) for name in _OWN}
        action = cast("Any", shown_action(handler.definition.action))
        return cls(**definition | counters | own | {"action": action, "flow": asdict(handler.definition.flow)})

    def value(self) -> EventHandler:
        """Read an event handler as it was shown."""
        definition = {name: getattr(self, name) for name in _DEFINED}
        definition |= {"action": read_action(self.action), "flow": self.flow.flow()}
        counters = {field.name: getattr(self, field.name) for field in fields(HandlerCounters)}
        return EventHandler(
            definition=EventHandlerDefinition(**definition),
            counters=HandlerCounters(**counters),
            **{name: getattr(self, name) for name in _OWN},
        )


_DEFINED = tuple(field.name for field in fields(EventHandlerDefinition))
_OWN = ("id", "tenant_id", "created_at", "updated_at", "created_by", "version")


def definition_document(definition: EventHandlerDefinition) -> dict[str, Json]:
    """Write a definition as a caller sends it; `every_tenant`, which nobody may set over HTTP, only if it is set."""
    written = written_fields({name: getattr(definition, name) for name in _DEFINED})
    return written if definition.every_tenant else {name: written[name] for name in written if name != "every_tenant"}


def written_fields(changes: Mapping[str, Any]) -> dict[str, Json]:
    """Write fields of a definition as a caller sends them."""
    written = dict(changes)
    if "action" in written:
        written["action"] = written_action(written["action"])
    if "flow" in written:
        written["flow"] = asdict(written["flow"])
    return written
