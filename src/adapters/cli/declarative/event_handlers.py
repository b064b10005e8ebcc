"""One event handler of a file: as the HTTP API has it, but that `run_job` may name its job by the key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Final
from uuid import UUID

from ....domain.errors import FieldError, InvalidEventHandler
from ....domain.event import EventHandlerDefinition
from ....domain.event_definition import validate_handler
from ....domain.event_documents import handler_document
from ....domain.json import Json
from ....domain.reconciliation import Declaration
from ..event_documents import handler_in
from ..job_documents import ENABLED, unknown_fields
from .jobs import key_faults

_FIELDS: Final = tuple(field.name for field in fields(EventHandlerDefinition) if field.name != "every_tenant")
_NOBODY: Final = str(UUID(int=0))


def read_event_handler(given: Mapping[str, Json]) -> Declaration:
    """
    Read an event handler; what it does not state has its default, but for `enabled`, which stays as it is.

    Raises:
        InvalidInput: names each field that is missing, unknown or out of bounds.
    """
    faults = [*unknown_fields(given, _FIELDS), *key_faults(given), *_faults_of_job(given.get("action"))]
    if faults:
        raise InvalidEventHandler(faults)
    definition = validate_handler(handler_in(_with_id(given)))
    written = handler_document(definition)
    stated = {name: written[name] for name in _FIELDS if name != "key" and (name != ENABLED or ENABLED in given)}
    return Declaration(key=str(given["key"]), fields={**stated, "action": _action(stated["action"], given)})


def _faults_of_job(action: Json) -> Iterator[FieldError]:
    if not isinstance(action, Mapping) or action.get("type") != "run_job" or "job" not in action:
        return
    if "job_id" in action:
        yield FieldError("action.job_id", "cannot go with job; name one of the two")
    if not isinstance(action["job"], str):
        yield FieldError("action.job", "must be the key of a job")


def _with_id(given: Mapping[str, Json]) -> Mapping[str, Json]:
    """Let any id stand for the job that is named by its key."""
    action = given.get("action")
    if not isinstance(action, Mapping) or action.get("type") != "run_job" or "job" not in action:
        return given
    return {**given, "action": {**{name: action[name] for name in action if name != "job"}, "job_id": _NOBODY}}


def _action(written: Json, given: Mapping[str, Json]) -> Json:
    action = given.get("action")
    if not isinstance(written, Mapping) or not isinstance(action, Mapping):
        return written
    if written["type"] == "call":
        return {name: value for name, value in written.items() if name != "job_id"}
    if written["type"] == "run_job" and "job" in action:
        return {**{name: value for name, value in written.items() if name != "job_id"}, "job": action["job"]}
    return written
