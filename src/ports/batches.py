"""What is done to many jobs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeAlias
from uuid import UUID

from ..domain.errors import FieldError, InvalidInput, InvalidJob, TocsinError
from ..domain.job import JobDefinition, JobStatus, ScheduledJob
from ..domain.plan import Decision
from .conflicts import OnConflict
from .dispatcher import Dispatch
from .queries import JobFilter

BATCH_BOUNDS: Final = (1, 1000)
"""Jobs that one call stores, or names."""

BULK_LIMIT: Final = 10_000
"""Jobs that one call changes at most."""

BULK_SHOWN: Final = 50
"""Jobs of each kind that an outcome shows."""


class BulkAction(StrEnum):
    """What may be done to many jobs at once; each as the port's method of that name does it to one."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    TRIGGER = "trigger"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to store, and how it begins: paused if not `enabled`, and before its handler if that is let through."""

    definition: JobDefinition
    enabled: bool = True
    allow_unknown_handler: bool = False


def new_jobs(definitions: Sequence[JobDefinition | NewJob], *, allow_unknown_handler: bool) -> list[NewJob]:
    """
    Give what `Batches.schedule_many` is called with, as jobs to store.

    Raises:
        InvalidJob: on field `jobs`, if there are not 1 to 1000 of them.
    """
    check_batch("jobs", definitions)
    return [
        each if isinstance(each, NewJob) else NewJob(definition=each, allow_unknown_handler=allow_unknown_handler)
        for each in definitions
    ]


def check_batch(field: str, given: Sequence[object]) -> None:
    """
    Hold what one call stores, or names, against its bounds.

    Raises:
        InvalidJob: on that field, if there are not 1 to 1000 of them.
    """
    fewest, most = BATCH_BOUNDS
    if not fewest <= len(given) <= most:
        raise InvalidJob.of(field, f"must be {fewest} to {most}")


def place_of_job(place: int | str, field: str = "") -> str:
    """Name a field of a job in a batch, such as jobs[3].schedule, or without a field the job itself."""
    return f"jobs[{place}].{field}" if field else f"jobs[{place}]"


def faults_of_job(place: int, error: InvalidInput) -> Iterator[FieldError]:
    """Name each field that a job of a batch was refused for, by the job's place."""
    return (FieldError(place_of_job(place, fault.field), fault.message) for fault in error.errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedJob:
    """A job that was changed, or would be, and how it stands then."""

    id: UUID
    name: str
    status: JobStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedJob:
    """A job that cannot be changed so, and why, as an error words it; one that is not there has no name."""

    job_id: UUID
    name: str | None
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """
    What an action on many jobs came to, or with `dry_run` would come to.

    `matched` is how many were meant; what of them was neither `changed` nor `unchanged`, because it stood so before,
    was refused. `refused` and `jobs`, those changed, show the first 50 of each.
    """

    action: BulkAction
    dry_run: bool
    matched: int
    changed: int
    unchanged: int
    refused: Sequence[RefusedJob]
    jobs: Sequence[ChangedJob]


class Batches(Protocol):
    """The part of `IScheduler` that makes or changes many jobs with one call."""

    async def schedule_many(
        self,
        definitions: Sequence[JobDefinition | NewJob],
        *,
        on_conflict: OnConflict = OnConflict.ERROR,
        allow_unknown_handler: bool = False,
    ) -> Sequence[ScheduledJob]:
        """
        Store jobs (1..1000), all or none, in one transaction; answer them in the order given.

        `on_conflict` says for each what happens when its key is taken, as for `schedule`: by default all are refused.

        Raises:
            InvalidJob, InvalidSchedule: each field at fault is named with its job's place, as `jobs[3].schedule`; also
                if two of them have one key, or a handler is not known.
            Conflict: a key is taken and `on_conflict` is `error`.
        """

    async def change_jobs(
        self,
        action: BulkAction,
        *,
        job_ids: Sequence[UUID] | None = None,
        query: JobFilter | None = None,
        dry_run: bool = False,
    ) -> BulkOutcome:
        """
        Do the same to many jobs: to those named (1..1000), or to all that match a filter, whatever its paging.

        A filter without a condition matches every job, and a condition that is an empty tuple is none.

        Some hundred of them are one transaction: what one of these cannot do hinders no other job, and what came
        before an error stays done. With `dry_run` nothing is written.

        Raises:
            InvalidJob: neither or both ways to name them are used, more than 10,000 match, or the filter looks for an
                empty `name_contains`.
        """


Meeting: TypeAlias = Callable[[ScheduledJob], Decision]
"""Gives what is to be decided about whoever has the key of a new job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What a batch of new jobs came to, in their order: each as it was made, or the one that had its key."""

    jobs: Sequence[ScheduledJob]
    dispatches: Sequence[Dispatch] = ()
    stopped: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedJobs:
    """What a decision came to for each of several jobs: as they stand now, or what was raised about them."""

    jobs: Sequence[ScheduledJob]
    refused: Sequence[tuple[ScheduledJob, TocsinError]]
    dispatches: Sequence[Dispatch] = ()
    stopped: Sequence[UUID] = ()


class BatchStore(Protocol):
    """
    Many jobs of one tenant in one transaction, with a number of statements that does not depend on how many.

    Raises (every method):
        StoreUnavailable: no answer within the store's deadline; nothing was changed.
    """

    async def add(self, jobs: Sequence[ScheduledJob], meet: Meeting) -> Added:
        """
        Insert jobs of one tenant, no two with the same key and handler_name, with their first versions.

        Where another job, neither deleted nor cancelled, has such a key, it is decided about that one instead.

        Raises:
            whatever is raised for it; nothing was changed.
        """

    async def read(self, tenant_id: str, job_ids: Sequence[UUID]) -> Sequence[ScheduledJob]:
        """Read those of the jobs that are there, in the order of the ids."""

    async def change(self, tenant_id: str, job_ids: Sequence[UUID], decide: Decision) -> ChangedJobs:
        """
        Lock those of the jobs that are there, decide about each, and write the plans (`JobStore.change`).

        No decision may give a job a key, or a handler_name, that is another than before.
        A job about which `decide` raises a TocsinError stays as it is and is told with that; the order is no matter.
        """
