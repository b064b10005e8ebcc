"""The client's requests about many jobs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final
from uuid import UUID

from ...domain.errors import FieldError, InvalidInput, InvalidJob
from ...domain.job import JobDefinition, ScheduledJob
from ...domain.json import Json
from ...ports.batches import BulkAction, BulkOutcome, NewJob, check_batch, faults_of_job, new_jobs
from ...ports.conflicts import OnConflict
from ...ports.queries import JobFilter
from .client_words import definition_document, written
from .transport import Transport
from .wire.batches import BatchOut, BulkOut, JobConditions
from .wire.fields import DEFAULTS
from .wire.jobs import JobOut

_CONDITIONS: Final = frozenset(JobConditions.model_fields)


class BatchRequests:
    """The part of `IScheduler` that makes or changes many jobs with one call."""

    _transport: Transport

    async def schedule_many(
        self,
        definitions: Sequence[JobDefinition | NewJob],
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        allow_unknown_handler: bool = False,
    ) -> Sequence[ScheduledJob]:
        """Store jobs, all or none (`IScheduler.schedule_many`)."""
        body: Json = {"jobs": _documents(new_jobs(definitions, allow_unknown_handler=allow_unknown_handler))}
        query = [("on_conflict", on_conflict.value)]
        shown = await self._transport.ask(BatchOut, "POST", "/jobs/batch", query=query, body=body)
        return list(map(JobOut.value, shown.items))

    async def change_jobs(
        self,
        action: BulkAction,
        *,
        job_ids: Sequence[UUID] | None = None,
        query: JobFilter | None = None,
        dry_run: bool = False,
    ) -> BulkOutcome:
        """Do the same to many jobs (`IScheduler.change_jobs`)."""
        body: dict[str, Json] = {"action": action.value, "dry_run": dry_run}
        if job_ids is not None:
            check_batch("job_ids", job_ids)
            body["job_ids"] = [str(job_id) for job_id in job_ids]
        if query is not None:
            body["filter"] = _conditions(query)
        return (await self._transport.ask(BulkOut, "POST", "/jobs/bulk", body=body)).value()


def _documents(wanted: Sequence[NewJob]) -> list[Json]:
    """
    Write jobs as they stand in a body.

    Raises:
        InvalidJob: names each field at fault with its job's place.
    """
    documents: list[Json] = []
    errors: list[FieldError] = []
    for place, each in enumerate(wanted):
        try:
            documents.append(_document(each))
        except InvalidInput as error:
            errors += faults_of_job(place, error)
    if errors:
        raise InvalidJob(errors)
    return documents


def _document(each: NewJob) -> Json:
    """Write a job, without what a server takes for granted, so that many go into one body."""
    body = definition_document(each.definition)
    plain = {name for name in body if name in DEFAULTS and getattr(each.definition, name) == DEFAULTS[name]}
    told = {name: value for name, value in body.items() if name not in plain}
    return {**told, "enabled": each.enabled, "allow_unknown_handler": each.allow_unknown_handler}


def _conditions(query: JobFilter) -> dict[str, Json]:
    named = ((field.name, getattr(query, field.name), field.default) for field in fields(query))
    return {
        name: list(value) if isinstance(value, tuple) else written(name, value)
        for name, value, default in named
        if name in _CONDITIONS and value != default
    }
