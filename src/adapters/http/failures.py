"""Problem documents as the errors they came from, and errors of the way there."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final
from uuid import UUID

from aiohttp import ClientConnectorError, ServerDisconnectedError
from pydantic import ValidationError

from ...domain.errors import (
    Conflict,
    EventHandlerNotFound,
    EventNotFound,
    ExecutionNotFound,
    FieldError,
    HandlerNotFound,
    InvalidEvent,
    InvalidEventHandler,
    InvalidInput,
    InvalidJob,
    InvalidSchedule,
    InvalidTransition,
    JobNotFound,
    StoreUnavailable,
    TocsinError,
    VersionConflict,
    WorkerNotFound,
)
from .refusals import PositionGone, TooLarge
from .wire.problem import Problem


class UnexpectedAnswer(TocsinError):
    """The server answered what no method of the port raises; `status` and `problem_code` say what."""

    code: ClassVar[str] = "UNEXPECTED_ANSWER"

    def __init__(self, message: str, *, status: int, problem_code: str | None = None) -> None:
        """Keep what the server said."""
        super().__init__(message)
        self.status = status
        self.problem_code = problem_code


_CLOSED: Final = "the connection was closed before an answer came"
_NO_CONNECTION: Final[Mapping[int, str]] = MappingProxyType(
    {
        errno.ECONNREFUSED: "nothing listens there",
        errno.ECONNRESET: _CLOSED,
        errno.EPIPE: _CLOSED,
        errno.EHOSTUNREACH: "no way leads there",
        errno.ENETUNREACH: "no way leads there",
    },
)


def unreachable(error: Exception) -> str:
    """Say in a few words why no answer came."""
    match error:
        case TimeoutError():
            return "timed out"
        case ServerDisconnectedError():
            return _CLOSED
        case ClientConnectorError(os_error=socket.gaierror()):
            return "no address is known for that name"
        case OSError(errno=number):
            return _NO_CONNECTION.get(number or 0, "no connection could be made")
        case _:
            return "what answers there does not speak HTTP"


def error_of(status: int, body: bytes) -> TocsinError:
    """Read a refusal; one that is no problem document comes from something between here and the server."""
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        return UnexpectedAnswer(f"status {status} without a problem document; is this a Tocsin server?", status=status)
    make = _ERRORS.get(problem.code, _unexpected)
    return make(problem)


def _unexpected(problem: Problem) -> TocsinError:
    return UnexpectedAnswer(problem.detail, status=problem.status, problem_code=problem.code)


def _invalid(kind: type[InvalidInput]) -> Callable[[Problem], TocsinError]:
    return lambda problem: kind(FieldError(each.field, each.message) for each in problem.errors or ())


def _version_conflict(problem: Problem) -> TocsinError:
    if problem.expected_version is None or problem.current_version is None:
        return _unexpected(problem)
    return VersionConflict(problem.expected_version, problem.current_version)


def _subject(written: str | None) -> object:
    """Give an id back as what it was: mostly a UUID."""
    try:
        return UUID(written or "")
    except ValueError:
        return written


_ERRORS: Final[Mapping[str, Callable[[Problem], TocsinError]]] = MappingProxyType(
    {
        InvalidInput.code: _invalid(InvalidInput),
        InvalidJob.code: _invalid(InvalidJob),
        InvalidSchedule.code: _invalid(InvalidSchedule),
        HandlerNotFound.code: lambda problem: HandlerNotFound(problem.handler_name or "", problem.known_handlers or ()),
        JobNotFound.code: lambda problem: JobNotFound(_subject(problem.job_id)),
        ExecutionNotFound.code: lambda problem: ExecutionNotFound(_subject(problem.execution_id)),
        InvalidEvent.code: _invalid(InvalidEvent),
        InvalidEventHandler.code: _invalid(InvalidEventHandler),
        PositionGone.code: lambda problem: InvalidEvent.of("position", problem.detail),
        TooLarge.code: lambda problem: InvalidInput.of("body", problem.detail),
        EventNotFound.code: lambda problem: EventNotFound(_subject(problem.event_id)),
        EventHandlerNotFound.code: lambda problem: EventHandlerNotFound(_subject(problem.handler_id)),
        WorkerNotFound.code: lambda problem: WorkerNotFound(problem.worker_id or ""),
        InvalidTransition.code: lambda problem: InvalidTransition(
            problem.subject or "", problem.current or "", problem.wanted or ""
        ),
        Conflict.code: lambda problem: Conflict(problem.detail, problem.existing_id),
        VersionConflict.code: _version_conflict,
        StoreUnavailable.code: lambda problem: StoreUnavailable(problem.detail),
    },
)
