"""Writing what is there as a file that `apply` takes back unchanged: only what is not a default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ....application.declared_jobs import DEFAULTS
from ....domain.errors import InvalidInput
from ....domain.event import CancelJobs, EventHandlerDefinition
from ....domain.event_documents import handler_document
from ....domain.json import Json
from ....domain.reconciliation import Standing, is_same
from ..job_documents import ENABLED, NAMED_BY_TYPE, type_of_fields
from .entries import EVENT_HANDLERS, JOBS

_FIRST: Final = ("key", "name", "description", "schedule", "timezone", "handler_type", "handler_name", "payload")
_HANDLER_DEFAULTS: Final = handler_document(EventHandlerDefinition(event="", action=CancelJobs()))
_HANDLER_REQUIRED: Final = frozenset({"event", "action"})


def can_be_declared(job: Standing) -> bool:
    """Tell whether a file can hold a job: it has a key, and has not ended."""
    return job.key is not None and ENABLED in job.fields


def exported(jobs: Iterable[Standing], event_handlers: Iterable[Standing], *, scope: str | None) -> dict[str, Json]:
    """Write what stands as the document of a file, by key; `scope` is whose it is to be when it is applied."""
    written: dict[str, Json] = {} if scope is None else {"scope": scope}
    if entries := [_job(each) for each in sorted(jobs, key=_who)]:
        written[JOBS] = entries
    if entries := [_event_handler(each) for each in sorted(event_handlers, key=_who)]:
        written[EVENT_HANDLERS] = entries
    return written


def _who(standing: Standing) -> tuple[str, str]:
    return standing.key or "", standing.handler_name or ""


def _job(job: Standing) -> dict[str, Json]:
    implied = {**DEFAULTS, ENABLED: True, "name": job.key, "schedule": None, "type": _type(job.fields)}
    if job.fields["handler_type"] in NAMED_BY_TYPE:
        implied["handler_name"] = job.fields["handler_type"]
    return _entry(job, implied)


def _type(fields: Mapping[str, Any]) -> Json:
    """Tell which type `apply` would take the job for; None if it has to be told."""
    try:
        return type_of_fields(fields).value
    except InvalidInput:
        return None


def _event_handler(handler: Standing) -> dict[str, Json]:
    implied = {name: value for name, value in _HANDLER_DEFAULTS.items() if name not in _HANDLER_REQUIRED}
    return _trimmed(_entry(handler, implied))


def _entry(standing: Standing, implied: Mapping[str, Json]) -> dict[str, Json]:
    stated: dict[str, Json] = {
        name: value
        for name, value in standing.fields.items()
        if name not in implied or not is_same(value, implied[name])
    }
    stated["key"] = standing.key
    order = [*(name for name in _FIRST if name in stated), *(name for name in stated if name not in _FIRST)]
    return {name: stated[name] for name in order}


def _trimmed(entry: dict[str, Json]) -> dict[str, Json]:
    """Leave out what says nothing in the action and the flow of an event handler."""
    for name in ("action", "flow"):
        inner = entry.get(name)
        if isinstance(inner, Mapping):
            entry[name] = {field: value for field, value in inner.items() if value is not None}
    return entry
