"""What an event handler does, over the wire; the bounds are those of `domain.event_actions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from ....domain.durations import parse_iso, parse_words
from ....domain.errors import InvalidSchedule
from ....domain.event import ACTION_TYPES, Action, Call, CancelJobs, CreateJob, JobKeyConflict, Publish, RunJob
from ....domain.event_actions import DELAY_BOUNDS
from ....domain.job import HandlerType
from ....domain.json import Json
from .fields import AnyJson, Text
from .model import Input, Output, misplaced

_TEMPLATE: Final = "Any JSON; texts in it may hold {{ … }} with CEL over `event`."


def _delay(value: object) -> object:
    """Read a length of time, in seconds or as people write it."""
    if not isinstance(value, str):
        return value
    try:
        every = parse_iso(value) if value.startswith("P") else parse_words(value)
    except InvalidSchedule:
        raise ValueError("must be seconds, or a length of time such as 1h, 30m or PT1H") from None
    return every // timedelta(seconds=1)


_DELAY_SCHEMA: Final = {
    "anyOf": [
        {"type": "integer", "minimum": DELAY_BOUNDS[0], "maximum": DELAY_BOUNDS[1]},
        {"type": "string", "examples": ["1h", "30m", "PT1H"]},
    ],
    "description": "Seconds, or a length of time.",
}

Seconds: TypeAlias = Annotated[int, Field(strict=True, ge=DELAY_BOUNDS[0], le=DELAY_BOUNDS[1])]
Delay: TypeAlias = Annotated[Seconds, BeforeValidator(_delay), WithJsonSchema(_DELAY_SCHEMA)]
Template: TypeAlias = Annotated[Any, WithJsonSchema({"description": _TEMPLATE})]


class RunJobIn(Input):
    """Run a job; `payload` is merged over the job's own."""

    type: Literal["run_job"]
    job_id: UUID
    payload: Template = None

    def action(self) -> RunJob:
        """Give the action as the domain knows it."""
        return RunJob(job_id=self.job_id, payload=self.payload)


class CreateJobIn(Input):
    """Make a job that runs once, after a delay; with a key a later event can cancel it."""

    type: Literal["create_job"]
    job: dict[str, Template] = Field(description="Fields of a job, but for its type and when it runs.")
    delay: Delay | None = None
    delay_seconds: Seconds | None = Field(default=None, description="The same as delay; name one of the two.")
    on_conflict: JobKeyConflict = JobKeyConflict.KEEP

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        if self.delay is not None and self.delay_seconds is not None:
            raise misplaced("action.delay_seconds", "cannot go with delay; name one of the two")
        return self

    def action(self) -> CreateJob:
        """Give the action as the domain knows it."""
        delay = self.delay or self.delay_seconds or 0
        return CreateJob(job=self.job, delay_seconds=delay, on_conflict=self.on_conflict)


class CancelJobsIn(Input):
    """Cancel the live jobs that have a key, or all of some tags; each may be a template."""

    type: Literal["cancel_jobs"]
    key: Text | None = None
    tags: tuple[Text, ...] = ()

    def action(self) -> CancelJobs:
        """Give the action as the domain knows it."""
        return CancelJobs(key=self.key, tags=self.tags)


class CallIn(Input):
    """Call a handler, through a job that goes where the event handler goes."""

    type: Literal["call"]
    handler_name: Text | None = Field(default=None, description="May be left out for http and command.")
    handler_type: HandlerType = HandlerType.FUNCTION
    payload: Template = None
    options: dict[str, AnyJson] = Field(
        default_factory=dict, description="Fields of that job, such as max_retries, concurrency or timeout_ms."
    )

    @model_validator(mode="after")
    def _function_has_a_name(self) -> Self:
        if self.handler_name is None and self.handler_type not in {HandlerType.HTTP, HandlerType.COMMAND}:
            raise misplaced("action.handler_name", "is required")
        return self

    def action(self) -> Call:
        """Give the action as the domain knows it."""
        return Call(
            handler_name=self.handler_name or self.handler_type.value,
            handler_type=self.handler_type.value,
            payload=self.payload,
            options=self.options,
        )


class PublishIn(Input):
    """Publish another event; each text may be a template."""

    type: Literal["publish"]
    name: Text
    data: Template = None
    subject: Text | None = None

    def action(self) -> Publish:
        """Give the action as the domain knows it."""
        return Publish(name=self.name, data=self.data, subject=self.subject)


ActionIn: TypeAlias = Annotated[RunJobIn | CreateJobIn | CancelJobsIn | CallIn | PublishIn, Field(discriminator="type")]


class RunJobOut(Output):
    """Runs a job."""

    type: Literal["run_job"]
    job_id: UUID
    payload: AnyJson


class CreateJobOut(Output):
    """Makes a job that runs once, after a delay."""

    type: Literal["create_job"]
    job: dict[str, Any]
    delay_seconds: int
    on_conflict: JobKeyConflict


class CancelJobsOut(Output):
    """Cancels the live jobs that have a key, or all of some tags."""

    type: Literal["cancel_jobs"]
    key: str | None
    tags: tuple[str, ...]


class CallOut(Output):
    """Calls a handler, through the job `job_id`."""

    type: Literal["call"]
    handler_name: str
    handler_type: str
    payload: AnyJson
    options: dict[str, Any]
    job_id: UUID | None


class PublishOut(Output):
    """Publishes another event."""

    type: Literal["publish"]
    name: str
    data: AnyJson
    subject: str | None


ActionOut: TypeAlias = Annotated[
    RunJobOut | CreateJobOut | CancelJobsOut | CallOut | PublishOut, Field(discriminator="type")
]


def shown_action(action: Action) -> Mapping[str, Any]:
    """Give the fields of an action beside its type."""
    kind = next(name for name, kind in ACTION_TYPES.items() if isinstance(action, kind))
    return {"type": kind, **{field.name: getattr(action, field.name) for field in fields(action)}}


def read_action(shown: Output) -> Action:
    """Read an action as it was shown."""
    told = {name: getattr(shown, name) for name in type(shown).model_fields}
    return ACTION_TYPES[told.pop("type")](**told)


def written_action(action: Action) -> Mapping[str, Json]:
    """Write an action as a caller sends it; the job of a call is the store's to name."""
    told = {
        name: value for name, value in shown_action(action).items() if name != "job_id" or isinstance(action, RunJob)
    }
    return {name: str(value) if isinstance(value, UUID) else value for name, value in told.items()}
