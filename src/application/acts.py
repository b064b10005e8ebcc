"""How an event handler's action becomes an act: its templates filled in with what their expressions came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, cast

from ..domain.definition import validate
from ..domain.errors import InvalidEventHandler
from ..domain.event import Action, Call, CancelJobs, CreateJob, Event, EventHandler, Publish, RunJob
from ..domain.job import JobDefinition, JobType
from ..domain.json import EVENT_LIMIT, PAYLOAD_LIMIT, Json, NotStorable, encoded, storable
from ..domain.patterns import is_name, is_reserved
from ..domain.resolution import Act, Announce, Cancel, Create, Run
from ..domain.runs import EVENT_PAYLOAD_LIMIT
from ..domain.templates import rendered

_LONGEST_KEY: Final = 128
_LONGEST_SUBJECT: Final = 2048
_JOB_LIMIT: Final = 2 * PAYLOAD_LIMIT
"""Bytes of what a job is made of: its payload, and room for all else."""


def template_of(action: Action) -> Json:
    """Give all of an action that may hold placeholders, as one document."""
    match action:
        case RunJob() | Call():
            return {"payload": action.payload}
        case CreateJob():
            return {"job": action.job}
        case CancelJobs():
            return {"key": action.key, "tags": list(action.tags)}
        case Publish():
            return {"name": action.name, "data": action.data, "subject": action.subject}


def act_of(handler: EventHandler, event: Event, told: Mapping[str, Json], results: Mapping[str, Json]) -> Act:
    """
    Say what a handler does about an event; `told` is what its handlers are told of it, or of a batch.

    Raises:
        TocsinError: what the templates came to cannot be acted upon.
    """
    action = handler.definition.action
    filled = _filled(action, results)
    match action:
        case RunJob():
            return Run(job_id=action.job_id, overlay=filled["payload"], told=told)
        case Call():
            if action.job_id is None:
                raise InvalidEventHandler.of("action", "has no job of its own")
            return Run(job_id=action.job_id, overlay=filled["payload"], told=told)
        case CreateJob():
            delay = timedelta(seconds=action.delay_seconds)
            return Create(definition=_definition(filled["job"]), delay=delay, on_conflict=action.on_conflict)
        case CancelJobs():
            key = None if action.key is None else _text("action.key", filled["key"], _LONGEST_KEY)
            tags = tuple(_text("action.tags", tag, _LONGEST_KEY) for tag in filled["tags"])
            return Cancel(tenant_id=event.tenant_id, key=key, tags=tags)
        case Publish():
            return _announcement(filled)


def _filled(action: Action, results: Mapping[str, Json]) -> Mapping[str, Any]:
    try:
        filled = rendered(template_of(action), results, limit=_limit_of(action))
    except NotStorable as error:
        raise InvalidEventHandler.of("action", str(error)) from None
    return cast("Mapping[str, Any]", filled)


def _limit_of(action: Action) -> int:
    match action:
        case RunJob() | Call() | Publish():
            # Of what is published the data has a limit of its own, beside which name and subject have room.
            return EVENT_PAYLOAD_LIMIT
        case CreateJob():
            return _JOB_LIMIT
        case CancelJobs():
            return PAYLOAD_LIMIT


def text_of(value: Json) -> str:
    """Word a value as text: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else encoded(value)


def _definition(job: Mapping[str, Any]) -> JobDefinition:
    """Read the fields of a job that runs once; its schedule is a stand-in, which whoever makes the job replaces."""
    fields = {**job, "tags": tuple(job.get("tags") or ())}
    try:
        definition = JobDefinition(**{**fields, "type": JobType.EVENT, "schedule": None})
    except TypeError as error:
        raise InvalidEventHandler.of("action.job", str(error)) from None
    if definition.key is not None:
        definition = replace(definition, key=_text("action.job.key", definition.key, _LONGEST_KEY))
    return validate(replace(definition, name=text_of(definition.name)))


def _announcement(filled: Mapping[str, Any]) -> Announce:
    name = text_of(filled["name"])
    if not is_name(name) or is_reserved(name):
        raise InvalidEventHandler.of("action.name", "does not come to the name of an event that may be published")
    try:
        data = storable(filled["data"], limit=EVENT_LIMIT)
    except NotStorable as error:
        raise InvalidEventHandler.of("action.data", str(error)) from None
    subject = None if filled["subject"] is None else text_of(filled["subject"])
    if subject:
        _text("action.subject", subject, _LONGEST_SUBJECT)
    return Announce(name=name, data=data, subject=subject or None)


def _text(field: str, value: Json, longest: int) -> str:
    text = text_of(value)
    if not 1 <= len(text) <= longest:
        raise InvalidEventHandler.of(field, f"comes to {len(text)} characters; must have 1 to {longest}")
    return text
