"""From the options of `jobs create` to a job's definition: when it fires, and what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...domain.errors import FieldError, InvalidInput, InvalidJob
from ...domain.job import HandlerType, JobDefinition, JobType
from ...domain.json import Json
from ...domain.schedule import Once
from .inputs import read_json
from .instants import read_wall_time


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """
    The ways to say when: a cron, an interval, one instant, or only on demand.

    `timezone` is that of a cron, or of a wall time.
    """

    cron: str | None = None
    every: str | None = None
    at: str | None = None
    on_demand: bool = False
    timezone: str | None = None

    def read(self) -> tuple[JobType, str | None]:
        """
        Give the type of the job and its schedule as text; one on demand has none.

        Raises:
            InvalidInput: none or several of the ways are used, or the instant cannot be read.
        """
        if len(self._ways) + self.on_demand != 1:
            raise InvalidInput.of("schedule", "give exactly one of --cron, --every, --at and --on-demand")
        return (JobType.EVENT, None) if self.on_demand else self.timed()

    def timed(self) -> tuple[JobType, str]:
        """
        Give the type of a job that fires by itself, and its schedule as text.

        Raises:
            InvalidInput: none or several of the ways are used, or the instant cannot be read.
        """
        if len(self._ways) != 1:
            raise InvalidInput.of("schedule", "give exactly one of --cron, --every and --at")
        if self.cron is not None:
            return JobType.CRON, self.cron
        if self.every is not None:
            return JobType.INTERVAL, _interval(self.every)
        return JobType.ONE_TIME, str(Once(at=read_wall_time(self._ways[0], "execute_at", self.timezone)))

    @property
    def _ways(self) -> Sequence[str]:
        return [way for way in (self.cron, self.every, self.at) if way is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The ways to say what a job does: a handler with a payload, a URL to call, or a command line."""

    handler: str | None = None
    handler_type: HandlerType | None = None
    payload: str | None = None
    url: str | None = None
    method: str | None = None
    headers: Sequence[str] = ()
    body: str | None = None
    expect: Sequence[int] = ()
    command: str | None = None

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
        if self.url is None and (self.method or self.headers or self.body is not None or self.expect):
            errors.append(FieldError("payload", "--method, --header, --body and --expect go with --url"))
        return errors

    def _call(self, url: str) -> dict[str, Json]:
        default = "GET" if self.body is None else "POST"
        call: dict[str, Json] = {"method": (self.method or default).upper(), "url": url}
        if self.headers:
            call["headers"] = dict(_header(each) for each in self.headers)
        if self.body is not None:
            call["body"] = read_json(self.body, "payload.body")
        if self.expect:
            call["expect"] = list(self.expect)
        return call


def define(when: When, work: Work, fields: Mapping[str, object]) -> JobDefinition:
    """
    Put a definition together; `fields` are those that the other two do not say.

    A cron or an interval with an end is `recurring`. Bounds are for the scheduler to check.

    Raises:
        InvalidInput: names each field that is missing or contradicts another.
    """
    kind, schedule = when.read()
    bounded = fields.get("end_date") is not None or fields.get("max_executions") is not None
    if bounded and kind in {JobType.CRON, JobType.INTERVAL}:
        kind = JobType.RECURRING
    known = {"schedule": schedule} | work.read()
    if twice := known.keys() & fields.keys():
        raise InvalidJob(FieldError(name, "has options of its own here; use those") for name in sorted(twice))
    return JobDefinition(**cast("Any", {"type": kind} | known | dict(fields)))


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
