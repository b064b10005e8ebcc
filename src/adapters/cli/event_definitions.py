"""From the options of `events on` to what an event handler does, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated, Any, Final, cast
from uuid import UUID

import typer

from ...domain.errors import FieldError, InvalidEventHandler
from ...domain.event import Action, Call, CancelJobs, CreateJob, JobKeyConflict, Publish, RunJob
from ...domain.flow import Batch, Debounce, Rate
from ...domain.job import HandlerType
from ...domain.json import Json
from .completion import complete_job
from .definitions import Work
from .documents import to_json
from .inputs import read_json, read_settings
from .instants import read_length
from .options import PayloadOption

_WAYS: Final = ("call", "call_url", "call_command", "run_job", "create_job", "cancel_key", "cancel_tag", "publish")
_EXPECTED: Final = (
    "give exactly one of --call, --call-url, --call-command, --run-job, --create-job, --publish, "
    "and --cancel-key or --cancel-tag"
)
_CALLS: Final = ("call", "call_url", "call_command")
_GOES_WITH: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "payload": ("call", "run_job"),
        "handler_type": ("call",),
        **dict.fromkeys(("method", "header", "body", "expect"), ("call_url",)),
        "set": _CALLS,
        "delay": ("create_job",),
        "on_job_conflict": ("create_job",),
        "data": ("publish",),
        "subject": ("publish",),
    },
)
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """The options that say what an event handler does, each beside what goes with it."""

    call: Annotated[str | None, typer.Option(metavar="NAME", help="Call this function.")] = None
    handler_type: Annotated[HandlerType | None, typer.Option(help="With --call: what kind of handler.")] = None
    call_url: Annotated[str | None, typer.Option(metavar="URL", help="Call this URL.")] = None
    method: Annotated[str | None, typer.Option(metavar="VERB", help="With --call-url; else GET, POST with a body.")] = (
        None
    )
    header: Annotated[list[str] | None, typer.Option(metavar="NAME:VALUE", help="With --call-url; repeatable.")] = None
    body: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="With --call-url.")] = None
    expect: Annotated[list[int] | None, typer.Option(metavar="STATUS", help="With --call-url; else any 2xx.")] = None
    call_command: Annotated[str | None, typer.Option(metavar="LINE", help="Run this shell line.")] = None
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=VALUE", help="With a call: such as max_retries=5; repeatable."),
    ] = None
    run_job: Annotated[
        str | None,
        typer.Option(metavar="JOB", help="Run this job, by its id, key or name.", autocompletion=complete_job),
    ] = None
    payload: PayloadOption = None
    create_job: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="Make a job that runs once: its fields, but for when.")
    ] = None
    delay: Annotated[str | None, typer.Option(metavar="LENGTH", help="With --create-job: 48h later; else at once.")] = (
        None
    )
    on_job_conflict: Annotated[
        JobKeyConflict | None, typer.Option(help="With --create-job: when the job's key is taken; else keep.")
    ] = None
    cancel_key: Annotated[str | None, typer.Option(metavar="TEXT", help="Cancel the jobs with this key.")] = None
    cancel_tag: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Cancel the jobs with all of these tags; repeatable.")
    ] = None
    publish: Annotated[str | None, typer.Option(metavar="NAME", help="Publish another event.")] = None
    data: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="With --publish.")] = None
    subject: Annotated[str | None, typer.Option(metavar="TEXT", help="With --publish.")] = None

    def read(self, job_id: UUID | None) -> Action:
        """
        Give the action; `job_id` is that of the job which `run_job` names.

        Raises:
            InvalidInput: none or several of the ways are used, or something goes with another way.
        """
        if errors := self._mixed():
            raise InvalidEventHandler(errors)
        if job_id is not None:
            return RunJob(job_id=job_id, payload=self._payload)
        if self.create_job is not None:
            return self._create(self.create_job)
        if self.publish is not None:
            data = None if self.data is None else read_json(self.data, "action.data")
            return Publish(name=self.publish, data=data, subject=self.subject)
        if self.cancel_key is not None or self.cancel_tag:
            return CancelJobs(key=self.cancel_key, tags=tuple(self.cancel_tag or ()))
        return self._call()

    def _mixed(self) -> list[FieldError]:
        used = {way for way in _WAYS if self._has(way)}
        if len(used - {"cancel_tag"} if "cancel_key" in used else used) != 1:
            return [FieldError("action", _EXPECTED)]
        return [
            FieldError(f"action.{name}", f"{_option(name)} goes with {' and '.join(map(_option, ways))}")
            for name, ways in _GOES_WITH.items()
            if self._has(name) and not used.intersection(ways)
        ]

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None

    @property
    def _payload(self) -> Json:
        return None if self.payload is None else read_json(self.payload, "action.payload")

    def _create(self, job: str) -> CreateJob:
        delay = 0 if self.delay is None else _seconds(self.delay, "action.delay")
        return CreateJob(
            job=cast("Mapping[str, Json]", read_json(job, "action.job")),
            delay_seconds=delay,
            on_conflict=self.on_job_conflict or JobKeyConflict.KEEP,
        )

    def _call(self) -> Call:
        work = Work(
            handler=self.call,
            handler_type=self.handler_type,
            url=self.call_url,
            method=self.method,
            header=self.header,
            body=self.body,
            expect=self.expect,
            command=self.call_command,
        )
        said: dict[str, Any] = {"payload": self._payload} | work.read()
        options = {name: to_json(value) for name, value in read_settings(self.set or ()).items()}
        return Call(**said, options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The options that say how often and when an event handler acts."""

    dedupe: Annotated[str | None, typer.Option(metavar="LENGTH", help="Leave out repetitions within 1h.")] = None
    rate_limit: Annotated[str | None, typer.Option(metavar="N/LENGTH", help="Leave out what is beyond 100/1h.")] = None
    throttle: Annotated[str | None, typer.Option(metavar="N/LENGTH", help="Delay what is beyond 5/1m.")] = None
    debounce: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Act once it was quiet for 10s; 10s/5m: 5m at the latest.")
    ] = None
    batch: Annotated[
        str | None, typer.Option(metavar="N/LENGTH", help="Act upon several at once: 50/10s, 50 or those of 10s.")
    ] = None
    flow_key: Annotated[
        str | None, typer.Option(metavar="CEL", help="Each of these for itself: event.data.customer.")
    ] = None

    def given(self) -> dict[str, Any]:
        """
        Give the fields of a flow control that were named.

        Raises:
            InvalidInput: one of them cannot be read.
        """
        read = {
            "key": self.flow_key,
            "dedupe_seconds": None if self.dedupe is None else _seconds(self.dedupe, "flow.dedupe_seconds"),
            "rate_limit": _rate(self.rate_limit, "flow.rate_limit"),
            "throttle": _rate(self.throttle, "flow.throttle"),
            "debounce": _debounce(self.debounce),
            "batch": _batch(self.batch),
        }
        return {name: value for name, value in read.items() if value is not None}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _rate(text: str | None, field: str) -> Rate | None:
    if text is None:
        return None
    limit, seconds = _so_many(text, field, "5/1m, five a minute")
    return Rate(limit=limit, seconds=seconds)


def _batch(text: str | None) -> Batch | None:
    if text is None:
        return None
    size, seconds = _so_many(text, "flow.batch", "50/10s, fifty or what came in ten seconds")
    return Batch(size=size, seconds=seconds)


def _debounce(text: str | None) -> Debounce | None:
    if text is None:
        return None
    quiet, slash, most = text.partition("/")
    return Debounce(
        seconds=_seconds(quiet, "flow.debounce"),
        max_seconds=_seconds(most, "flow.debounce.max_seconds") if slash else None,
    )


def _so_many(text: str, field: str, example: str) -> tuple[int, int]:
    count, slash, length = text.partition("/")
    if not slash or not count.strip().isdecimal():
        raise InvalidEventHandler.of(field, f"{text!r} is not COUNT/LENGTH, such as {example}")
    return int(count), _seconds(length, field)


def _seconds(text: str, field: str) -> int:
    return read_length(text, field) // _SECOND
