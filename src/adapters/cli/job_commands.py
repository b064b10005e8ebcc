"""`tocsin jobs`: moving jobs between their states, and running them by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from .confirmation import confirm
from .execution_views import execution_facts
from .inputs import optional_json
from .job_views import job_facts
from .options import JobArgument, PayloadOption, VersionOption, YesOption
from .references import find_job
from .session import Session, remote


def register(jobs: typer.Typer) -> None:
    """Add the commands that do something to a job."""
    jobs.command("pause")(remote(pause))
    jobs.command("resume")(remote(resume))
    jobs.command("cancel")(remote(cancel))
    jobs.command("delete")(remote(delete))
    jobs.command("trigger")(remote(trigger))
    jobs.command("retry")(remote(retry))


async def pause(session: Session, job: JobArgument, *, expected_version: VersionOption = None) -> None:
    """Stop new fires of a job; what runs goes on."""
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        changed = await scheduler.pause_job(job_id, expected_version=expected_version)
    session.output.show(changed, job_facts)


async def resume(session: Session, job: JobArgument, *, expected_version: VersionOption = None) -> None:
    """
    Fire a paused job again from now on.

    What lay in the pause is not made up for.
    """
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        changed = await scheduler.resume_job(job_id, expected_version=expected_version)
    session.output.show(changed, job_facts)


async def cancel(
    session: Session,
    job: JobArgument,
    *,
    yes: YesOption = False,
    expected_version: VersionOption = None,
) -> None:
    """End a job for good, with what of it is pending or running."""
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        confirm(f"Cancel job {job} for good, with what of it is pending or running?", yes=yes)
        changed = await scheduler.cancel_job(job_id, expected_version=expected_version)
    session.output.show(changed, job_facts)


async def delete(
    session: Session,
    job: JobArgument,
    *,
    yes: YesOption = False,
    expected_version: VersionOption = None,
) -> None:
    """
    Delete a job, and end what of it is pending or running.

    Its executions stay until retention removes them: `tocsin executions list --job ID` lists them.
    """
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        confirm(f"Delete job {job}, and end what of it is pending or running?", yes=yes)
        await scheduler.unschedule(job_id, expected_version=expected_version)
    session.output.show({"id": job_id, "deleted": True}, lambda _: f"deleted job {job_id}")


async def trigger(
    session: Session,
    job: JobArgument,
    *,
    payload: PayloadOption = None,
    idempotency_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The same key again answers the first execution.")
    ] = None,
) -> None:
    """Run a job now, beside its schedule."""
    document = optional_json(payload)
    async with session.connect() as scheduler:
        job_id = await find_job(scheduler, job)
        execution = await scheduler.trigger_job(job_id, payload=document, idempotency_key=idempotency_key)
    session.output.show(execution, execution_facts)


async def retry(session: Session, job: JobArgument) -> None:
    """Run a job's newest execution again, if it failed or timed out."""
    async with session.connect() as scheduler:
        execution = await scheduler.retry_job(await find_job(scheduler, job))
    session.output.show(execution, execution_facts)
