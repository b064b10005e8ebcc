"""The bounds of an event handler's action, and where in it the templates are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast
from uuid import UUID

from .bounds import faults_of_choice, faults_of_document, faults_of_number, faults_of_text
from .definition import FIELD_NAMES, TAG_LENGTH, TAGS_LIMIT, TEXT_BOUNDS, kept_document, validate
from .errors import FieldError, InvalidJob
from .event import Action, Call, CancelJobs, CreateJob, JobKeyConflict, Publish, RunJob
from .job import HandlerType, JobDefinition, JobType
from .json import Json
from .patterns import is_name, is_reserved
from .templates import MalformedTemplate, is_template, placeholders

DELAY_BOUNDS: Final = (0, 31_536_000)
TEMPLATE_BOUNDS: Final = (1, 4096)
"""Shortest and longest text of a template that stands where a name, a key or a tag does, in characters."""

SUBJECT_BOUNDS: Final = (1, 2048)

OF_A_CREATED_JOB: Final = frozenset(FIELD_NAMES) - {
    "type",
    "schedule",
    "timezone",
    "start_date",
    "end_date",
    "max_executions",
}
"""The fields of a definition that `create_job` may name; when it runs is not among them."""

OF_A_CALL: Final = frozenset(
    {
        "description",
        "metadata",
        "tags",
        "priority",
        "concurrency",
        "overlap_policy",
        "max_retries",
        "retry_delay_ms",
        "backoff",
        "retry_jitter",
        "timeout_ms",
        "lock_timeout_seconds",
    },
)
"""The fields of a definition that the `options` of a call may name."""


def templates_of(action: Action) -> Mapping[str, Json]:
    """Give everything in an action that may hold placeholders, under its dotted path."""
    match action:
        case RunJob() | Call():
            return {"action.payload": action.payload}
        case CreateJob():
            return {f"action.job.{name}": value for name, value in action.job.items()}
        case CancelJobs():
            return {"action.key": action.key, "action.tags": list(action.tags)}
        case Publish():
            return {"action.name": action.name, "action.subject": action.subject, "action.data": action.data}


def faults_of_action(action: Action) -> Iterator[FieldError]:
    """Say what is wrong with an action; of templates, what they come to is not known yet."""
    check = _CHECKS.get(type(action))
    if check is None:
        yield FieldError("action", "must be one of run_job, create_job, cancel_jobs, call and publish")
        return
    faults = list(check(action))
    yield from faults
    # Only what is sound in itself can be searched for placeholders.
    if not faults:
        yield from _faults_of_templates(templates_of(action))


def kept_action(action: Action) -> Action:
    """Give an action that has no faults as it is kept: documents storable, choices as enums."""
    match action:
        case RunJob():
            return replace(action, payload=kept_document("action.payload", action.payload))
        case CreateJob():
            job = cast("Mapping[str, Json]", kept_document("action.job", action.job))
            return replace(action, job=job, on_conflict=JobKeyConflict(action.on_conflict))
        case CancelJobs():
            return replace(action, tags=tuple(action.tags))
        case Call():
            options = cast("Mapping[str, Json]", kept_document("action.options", action.options))
            kept = kept_document("action.payload", action.payload)
            return replace(action, payload=kept, options=options, handler_type=str(HandlerType(action.handler_type)))
        case Publish():
            return replace(action, data=kept_document("action.data", action.data))


def _faults_of_templates(templates: Mapping[str, Json]) -> Iterator[FieldError]:
    faults = [fault for field, template in templates.items() for fault in _faults_of_template(field, template)]
    yield from faults or _faults_of_template("action", dict(templates))


def _faults_of_template(field: str, template: Json) -> Iterator[FieldError]:
    try:
        placeholders(template)
    except MalformedTemplate as error:
        yield FieldError(field, str(error))


def _run_job(action: RunJob) -> Iterator[FieldError]:
    if not isinstance(action.job_id, UUID):
        yield FieldError("action.job_id", "must be the id of a job")
    yield from faults_of_document("action.payload", action.payload)


def _create_job(action: CreateJob) -> Iterator[FieldError]:
    yield from faults_of_number("action.delay_seconds", action.delay_seconds, DELAY_BOUNDS)
    yield from faults_of_choice("action.on_conflict", action.on_conflict, JobKeyConflict)
    if not isinstance(action.job, Mapping):
        yield FieldError("action.job", "must be an object")
        return
    for name in ("name", "handler_name"):
        if name not in action.job:
            yield FieldError(f"action.job.{name}", "is required")
    yield from _faults_of_fields("action.job", action.job, OF_A_CREATED_JOB, plain=_is_plain)
    for name, value in action.job.items():
        if name in TEXT_BOUNDS and _is_templated(value):
            yield from faults_of_text(f"action.job.{name}", value, TEMPLATE_BOUNDS)


def _cancel_jobs(action: CancelJobs) -> Iterator[FieldError]:
    if not isinstance(action.tags, list | tuple) or len(action.tags) > TAGS_LIMIT:
        yield FieldError("action.tags", f"must be a list of at most {TAGS_LIMIT} entries")
        return
    if action.key is None and not action.tags:
        yield FieldError("action", "needs a key or tags")
    if action.key is not None:
        yield from _faults_of_templated("action.key", action.key, TEXT_BOUNDS["key"])
    for tag in action.tags:
        yield from _faults_of_templated("action.tags", tag, (1, TAG_LENGTH))


def _call(action: Call) -> Iterator[FieldError]:
    yield from faults_of_text("action.handler_name", action.handler_name, TEXT_BOUNDS["handler_name"])
    yield from faults_of_choice("action.handler_type", action.handler_type, HandlerType)
    yield from faults_of_document("action.payload", action.payload)
    if isinstance(action.options, Mapping):
        yield from _faults_of_fields("action.options", action.options, OF_A_CALL)
    else:
        yield FieldError("action.options", "must be an object")


def _publish(action: Publish) -> Iterator[FieldError]:
    if not isinstance(action.name, str) or not (is_template(action.name) or is_name(action.name)):
        yield FieldError("action.name", "must be the name of an event")
    elif is_reserved(action.name):
        yield FieldError("action.name", "names of this kind are kept for Tocsin's own facts")
    else:
        yield from faults_of_text("action.name", action.name, TEMPLATE_BOUNDS)
    if action.subject is not None:
        yield from _faults_of_templated("action.subject", action.subject, SUBJECT_BOUNDS)
    yield from faults_of_document("action.data", action.data)


def _faults_of_templated(field: str, value: object, bounds: tuple[int, int]) -> Iterator[FieldError]:
    return faults_of_text(field, value, TEMPLATE_BOUNDS if _is_templated(value) else bounds)


def _faults_of_fields(
    path: str, values: Mapping[str, Json], known: frozenset[str], *, plain: Callable[[Json], bool] = lambda _: True
) -> Iterator[FieldError]:
    """Hold fields of a definition against its bounds, as far as they are `plain`: what templates come to may be any."""
    yield from (
        FieldError(f"{path}.{name}", "is no field that may be given here") for name in values if name not in known
    )
    if faults := list(faults_of_document(path, values)):
        yield from faults
        return
    given: dict[str, Any] = {name: values[name] for name in values if name in known and plain(values[name])}
    if "tags" in values:
        # A list in any case; each of its tags may be a template.
        given["tags"] = values["tags"]
    if isinstance(given.get("tags"), list | tuple):
        given["tags"] = tuple(filter(plain, given["tags"]))
    try:
        validate(JobDefinition(**{"name": "any", "handler_name": "any", "type": JobType.EVENT, **given}))
    except InvalidJob as error:
        yield from (FieldError(f"{path}.{each.field}", each.message) for each in error.errors)


def _is_plain(value: object) -> bool:
    return not _is_templated(value)


def _is_templated(value: object) -> bool:
    return isinstance(value, str) and is_template(value)


_CHECKS: Final[Mapping[type, Callable[[Any], Iterator[FieldError]]]] = {
    RunJob: _run_job,
    CreateJob: _create_job,
    CancelJobs: _cancel_jobs,
    Call: _call,
    Publish: _publish,
}
