"""Documents as a store keeps them: nobody outside holds a reference into the memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from ...domain.attempt import Finish
from ...domain.event import Event, EventHandler
from ...domain.event_documents import handler_document, handler_from_document
from ...domain.execution import JobExecution
from ...domain.job import ScheduledJob
from ...domain.json import Json, encoded


def detached(value: Json) -> Json:
    """
    Copy a document by way of its stored form.

    Raises:
        ValueError, TypeError, RecursionError: it has no stored form.
    """
    return cast("Json", json.loads(_stored_form(value))) if value is not None else None


def detached_job(job: ScheduledJob) -> ScheduledJob:
    """Copy a job with its documents."""
    definition = job.definition
    copied = replace(definition, payload=detached(definition.payload), metadata=detached(definition.metadata))
    return replace(job, definition=copied)


def detached_execution(row: JobExecution) -> JobExecution:
    """Copy an execution with its documents."""
    return replace(row, payload=detached(row.payload), result=detached(row.result), metadata=detached(row.metadata))


def detached_finish(finish: Finish) -> Finish:
    """
    Copy what an attempt left.

    Raises:
        ValueError, TypeError, RecursionError: something of it has no stored form.
    """
    for text in (finish.error, finish.error_type, finish.error_stack):
        _stored_form(text)
    return replace(finish, result=detached(finish.result))


def detached_event(event: Event) -> Event:
    """Copy an event with its documents; its impact has none."""
    attributes = cast("Mapping[str, Json]", detached(event.attributes))
    return replace(event, data=detached(event.data), attributes=attributes)


def detached_handler(handler: EventHandler) -> EventHandler:
    """Copy an event handler with the documents of its action."""
    written = cast("Mapping[str, Json]", detached(handler_document(handler.definition)))
    return replace(handler, definition=handler_from_document(written))


def _stored_form(value: Json) -> bytes:
    return encoded(value).encode()
