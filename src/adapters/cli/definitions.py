"""From the options of `jobs create` to a job's definition: when it fires, and what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer

from ...domain.errors import FieldError, InvalidInput, InvalidJob
from ...domain.job import HandlerType, JobDefinition, JobType
from ...domain.json import Json
from ...domain.schedule import Once
from ...ports.conflicts import OnConflict
from .inputs import read_field, read_json, read_settings
from .instants import optional_instant, read_wall_time
from .job_documents import bounded_type
from .options import (
    AtOption,
    CronOption,
    DescriptionOption,
    EveryOption,
    PayloadOption,
    PriorityOption,
    SetOption,
    TagOption,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The options that say when: a cron, an interval or one instant."""

    cron: CronOption = None
    every: EveryOption = None
    at: AtOption = None

    def or_on_demand(self, *, on_demand: bool, timezone: str | None) -> tuple[JobType, str | None]:
        """
        Give the type of the job and its schedule as text; one that is only `on_demand` has none.

        Raises:
            InvalidInput: none or several of the ways are used, or the instant cannot be read.
        """
        if len(self._ways) + on_demand != 1:
            raise InvalidInput.of("schedule", "give exactly one of --cron, --every, --at and --on-demand")
        return (JobType.EVENT, None) if on_demand else self.timed(timezone)

    def timed(self, timezone: str | None) -> tuple[JobType, str]:
        """
        Give the type of a job that fires by itself, and its schedule as text; `timezone` is that of a wall time.

        Raises:
            InvalidInput: none or several of the ways are used, or the instant cannot be read.
        """
        if len(self._ways) != 1:
            raise InvalidInput.of("schedule", "give exactly one of --cron, --every and --at")
        if self.cron is not None:
            return JobType.CRON, self.cron
        if self.every is not None:
            return JobType.INTERVAL, _interval(self.every)
        return JobType.ONE_TIME, str(Once(at=read_wall_time(self._ways[0], "execute_at", timezone)))

    @property
    def _ways(self) -> Sequence[str]:
        return [way for way in (self.cron, self.every, self.at) if way is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The options that say what a job does: a handler with a payload, a URL to call, or a command line."""

    handler: Annotated[str | None, typer.Option(metavar="NAME", help="The function that does the work.")] = None
    handler_type: Annotated[HandlerType | None, typer.Option(help="What kind of handler that is.")] = None
    payload: PayloadOption = None
    url: Annotated[str | None, typer.Option(metavar="URL", help="Call this URL instead.")] = None
    method: Annotated[str | None, typer.Option(metavar="VERB", help="With --url; else GET, POST with a body.")] = None
    header: Annotated[list[str] | None, typer.Option(metavar="NAME:VALUE", help="With --url; repeatable.")] = None
    body: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="With --url.")] = None
    expect: Annotated[list[int] | None, typer.Option(metavar="STATUS", help="With --url; else any 2xx.")] = None
    command: Annotated[str | None, typer.Option(metavar="LINE", help="Run this shell line instead.")] = None

    def read(self) -> dict[str, object]:
        """
        Give handler_type, handler_name and payload.

        Raises:
            InvalidJob: several ways are mixed, or none is used.
        """
        if errors := self._mixed():
            raise InvalidJob(errors)
        if self.url is not None:
            return _work(HandlerType.HTTP, None, self._call(self.url))
        if self.command is not None:
            return _work(HandlerType.COMMAND, None, {"shell": self.command})
        payload = None if self.payload is None else read_json(self.payload)
        return _work(self.handler_type or HandlerType.FUNCTION, self.handler, payload)

    def _mixed(self) -> list[FieldError]:
        errors = []
        direct = self.handler is not None or self.handler_type is not None
        if [direct, self.url is not None, self.command is not None].count(True) != 1:
            errors.append(FieldError("handler_name", "give exactly one of --handler, --url and --command"))
        if not direct and self.payload is not None:
            errors.append(FieldError("payload", "goes with --handler; --url and --command make their own"))
        if self.url is None and (self.method or self.header or self.body is not None or self.expect):
            errors.append(FieldError("payload", "--method, --header, --body and --expect go with --url"))
        return errors

    def _call(self, url: str) -> dict[str, Json]:
        default = "GET" if self.body is None else "POST"
        call: dict[str, Json] = {"method": (self.method or default).upper(), "url": url}
        if self.header:
            call["headers"] = dict(_header(each) for each in self.header)
        if self.body is not None:
            call["body"] = read_json(self.body, "payload.body")
        if self.expect:
            call["expect"] = list(self.expect)
        return call


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetails:
    """The options that say what else is to be known of a new job."""

    key: Annotated[str | None, typer.Option(metavar="KEY", help="A name that no other job may have.")] = None
    on_conflict: Annotated[OnConflict, typer.Option(help="What to do when the key is taken.")] = OnConflict.ERROR
    description: DescriptionOption = None
    tag: TagOption = None
    priority: PriorityOption = None
    start: Annotated[str | None, typer.Option(metavar="INSTANT", help="Fire then or later.")] = None
    end: Annotated[str | None, typer.Option(metavar="INSTANT", help="Fire then or earlier.")] = None
    max_executions: Annotated[int | None, typer.Option(metavar="N", help="Fire this often, then end.")] = None
    setting: SetOption = None

    def with_name(self, name: str, timezone: str | None) -> dict[str, object]:
        """
        Give the fields that were named.

        Raises:
            InvalidInput: one of them cannot be read, or is given twice.
        """
        options = {
            "name": name,
            "key": self.key,
            "timezone": timezone,
            "description": self.description,
            "tags": tuple(self.tag) if self.tag else None,
            "priority": None if self.priority is None else read_field("priority", self.priority),
            "start_date": optional_instant(self.start, "start_date"),
            "end_date": optional_instant(self.end, "end_date"),
            "max_executions": self.max_executions,
        }
        return merged(options, self.setting)


def merged(options: Mapping[str, object], settings: Sequence[str] | None) -> dict[str, object]:
    """Put options, None being not named, and --set pairs together; naming a field by both is a mistake."""
    given = {name: value for name, value in options.items() if value is not None}
    pairs = read_settings(settings or ())
    if twice := sorted(given.keys() & pairs.keys()):
        raise InvalidInput.of(twice[0], "is given by an option and by --set; use one of them")
    return given | pairs


def define(timed: tuple[JobType, str | None], work: Work, fields: Mapping[str, object]) -> JobDefinition:
    """
    Put a definition together, of when it fires, what it does and the `fields` that those two do not say.

    A cron or an interval with an end is `recurring`. Bounds are for the scheduler to check.

    Raises:
        InvalidInput: names each field that is missing or contradicts another.
    """
    kind, schedule = timed
    known = {"schedule": schedule} | work.read()
    if twice := known.keys() & fields.keys():
        raise InvalidJob(FieldError(name, "has options of its own here; use those") for name in sorted(twice))
    return JobDefinition(**cast("Any", {"type": bounded_type(kind, fields)} | known | dict(fields)))


def _work(handler_type: HandlerType, name: str | None, payload: Json) -> dict[str, object]:
    if name is None and handler_type is HandlerType.FUNCTION:
        raise InvalidInput.of("handler_name", "is required: the name of the function, with --handler")
    given = {} if payload is None else {"payload": payload}
    return {"handler_type": handler_type, "handler_name": name or handler_type.value, **given}


def _interval(text: str) -> str:
    return text if text.lower().startswith(("every", "@every", "p")) else f"every {text}"


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise InvalidInput.of("payload.headers", f"{text!r} is not a header; expected NAME:VALUE")
    return name.strip(), value.strip()
