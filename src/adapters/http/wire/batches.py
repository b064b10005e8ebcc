"""What is done to many jobs at once, over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Self, TypeAlias
from uuid import UUID

from pydantic import Field, model_validator

from ....domain.job import JobStatus, JobType
from ....domain.json import Json
from ....ports.batches import BATCH_BOUNDS, BulkAction, BulkOutcome, ChangedJob, NewJob, RefusedJob
from ....ports.queries import JobFilter
from .fields import Flag, Instant
from .jobs import JobIn, JobOut
from .model import Input, Output, misplaced
from .queries import Term


class BatchIn(Input):
    """Jobs to store, all or none."""

    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
        {
            "two": {
                "jobs": [
                    {"name": "Tick", "type": "interval", "schedule": "every 15m", "handler_name": "tocsin.noop"},
                    {"name": "Nightly", "type": "cron", "schedule": "0 2 * * *", "handler_name": "tocsin.noop"},
                ]
            }
        }
    )

    jobs: tuple[JobIn, ...] = Field(min_length=BATCH_BOUNDS[0], max_length=BATCH_BOUNDS[1])

    def wanted(self) -> list[NewJob]:
        """Give the jobs as the port takes them."""
        return [
            NewJob(definition=job.definition(), enabled=job.enabled, allow_unknown_handler=job.allow_unknown_handler)
            for job in self.jobs
        ]


class BatchOut(Output):
    """The jobs that were stored, kept or replaced, in the order given."""

    items: tuple[JobOut, ...]


Terms: TypeAlias = Annotated[tuple[Term, ...], Field(min_length=1)]


class JobConditions(Input):
    """
    Which jobs; every condition must hold, several values of one mean either. None at all means every job.

    An empty condition is refused: whoever asks for none of many tags does not mean every job.
    """

    type: tuple[JobType, ...] = Field(default_factory=tuple, min_length=1)
    status: tuple[JobStatus, ...] = Field(default_factory=tuple, min_length=1)
    tags: Terms = Field(default_factory=tuple, description="Jobs with any of these.")
    tags_all: Terms = Field(default_factory=tuple, description="Jobs with every one of these.")
    handler_name: Terms = Field(default_factory=tuple)
    key: Terms = Field(default_factory=tuple)
    name_contains: Term | None = Field(default=None, min_length=1)
    created_after: Instant | None = None
    created_before: Instant | None = None
    next_run_after: Instant | None = None
    next_run_before: Instant | None = None
    created_by: Terms = Field(default_factory=tuple)

    def query(self) -> JobFilter:
        """Give the conditions as the port takes them."""
        return JobFilter(**{name: getattr(self, name) for name in self.model_fields_set})


class BulkIn(Input):
    """What to do to which jobs: those named, or those that match."""

    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
        {
            "try_to_pause": {
                "action": "pause",
                "filter": {"status": ["active"], "tags": ["night"]},
                "dry_run": True,
            },
        }
    )

    action: BulkAction
    job_ids: tuple[UUID, ...] | None = Field(default=None, min_length=BATCH_BOUNDS[0], max_length=BATCH_BOUNDS[1])
    filter: JobConditions | None = Field(default=None, description="Instead of job_ids; {} means every job.")
    dry_run: Flag = Field(default=False, description="True: only tell what would be done.")

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        if (self.job_ids is None) == (self.filter is None):
            raise misplaced("job_ids", "or filter says which jobs are meant; name one of the two")
        return self


class ChangedJobOut(Output):
    """A job that was changed, or would be, and how it stands then."""

    id: UUID
    name: str
    status: JobStatus


class RefusedJobOut(Output):
    """A job that cannot be changed so, and why; one that is not there has no name."""

    job_id: UUID
    name: str | None
    code: str
    message: str


class BulkOut(Output):
    """
    What it came to; `refused` and `jobs`, those changed, show the first 50.

    Of `matched` jobs those neither `changed` nor `unchanged`, because they stood so before, were refused.
    """

    action: BulkAction
    dry_run: bool
    matched: int
    changed: int
    unchanged: int
    refused: tuple[RefusedJobOut, ...]
    jobs: tuple[ChangedJobOut, ...]

    @classmethod
    def of(cls, outcome: BulkOutcome) -> BulkOut:
        """Show an outcome."""
        return cls.model_validate(outcome)

    def value(self) -> BulkOutcome:
        """Read an outcome as it was shown."""
        shown = {name: getattr(self, name) for name in BulkOut.model_fields if name not in {"refused", "jobs"}}
        return BulkOutcome(
            **shown,
            refused=[RefusedJob(**each.__dict__) for each in self.refused],
            jobs=[ChangedJob(**each.__dict__) for each in self.jobs],
        )
