"""The client's requests about many jobs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final
from uuid import UUID

from ...domain.definition import document, validate
from ...domain.errors import FieldError, InvalidInput, InvalidJob
from ...domain.job import JobDefinition, OverlapPolicy, ScheduledJob
from ...domain.json import Json
from ...ports.batches import BATCH_BOUNDS, BulkAction, BulkOutcome, NewJob
from ...ports.queries import JobFilter
from ...ports.scheduler import OnConflict
from .client_words import written
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
        _check("jobs", definitions)
        wanted = [
            each if isinstance(each, NewJob) else NewJob(definition=each, allow_unknown_handler=allow_unknown_handler)
            for each in definitions
        ]
        body: Json = {"jobs": _documents(wanted)}
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
            _check("job_ids", job_ids)
            body["job_ids"] = [str(job_id) for job_id in job_ids]
        if query is not None:
            body["filter"] = _conditions(query)
        return (await self._transport.ask(BulkOut, "POST", "/jobs/bulk", body=body)).value()


def _check(field: str, given: Sequence[object]) -> None:
    fewest, most = BATCH_BOUNDS
    if not fewest <= len(given) <= most:
        raise InvalidJob.of(field, f"must be {fewest} to {most}")


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
            errors += (FieldError(f"jobs[{place}].{one.field}", one.message) for one in error.errors)
    if errors:
        raise InvalidJob(errors)
    return documents


def _document(each: NewJob) -> Json:
    """Write a job, without what a server takes for granted, so that many go into one body."""
    definition = validate(each.definition)
    body = document(definition)
    # What overlaps without limit names no concurrency, and so says nothing where it has the usual one.
    plain = {name for name in body if name in DEFAULTS and getattr(definition, name) == DEFAULTS[name]}
    if definition.overlap_policy is OverlapPolicy.ALLOW_ALL:
        plain.add("concurrency")
    told = {name: value for name, value in body.items() if name not in plain}
    return {**told, "enabled": each.enabled, "allow_unknown_handler": each.allow_unknown_handler}


def _conditions(query: JobFilter) -> dict[str, Json]:
    named = ((field.name, getattr(query, field.name), field.default) for field in fields(query))
    return {
        name: list(value) if isinstance(value, tuple) else written(name, value)
        for name, value, default in named
        if name in _CONDITIONS and value != default
    }
