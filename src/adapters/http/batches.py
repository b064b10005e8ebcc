"""What may be done to many jobs at once."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from .answers import json_answer
from .endpoint import Call, Section, endpoint
from .wire import BASE
from .wire.batches import BatchIn, BatchOut, BulkIn, BulkOut
from .wire.jobs import JobOut
from .wire.model import Nothing
from .wire.queries import ConflictQuery

_JOBS: Final = f"{BASE}/jobs"


@endpoint("POST", f"{_JOBS}/batch", {201: BatchOut}, conflicts=True)
async def create_jobs(call: Call[ConflictQuery, BatchIn]) -> web.Response:
    """Store many jobs, all or none, and answer them in their order; a field at fault is named as jobs[3].schedule."""
    jobs = await call.scheduler.schedule_many(call.body.wanted(), on_conflict=call.query.on_conflict)
    return json_answer(
        BatchOut(items=tuple(map(JobOut.of, jobs))), status=HTTPStatus.CREATED, headers={"Location": _JOBS}
    )


@endpoint("POST", f"{_JOBS}/bulk", {200: BulkOut})
async def change_jobs(call: Call[Nothing, BulkIn]) -> web.Response:
    """
    Pause, resume, cancel or trigger many jobs, or with `dry_run` tell what that would come to.

    What one of them cannot do hinders no other. Some hundred are one transaction, so that an error on the way leaves
    done what came before it.
    """
    body = call.body
    outcome = await call.scheduler.change_jobs(
        body.action,
        job_ids=body.job_ids,
        query=None if body.filter is None else body.filter.query(),
        dry_run=body.dry_run,
    )
    return json_answer(BulkOut.of(outcome))


BATCHES: Final = Section(name="Batches", endpoints=(create_jobs, change_jobs))
"""Its names under /jobs are looked at before the ids of jobs."""
