"""Every error as a problem document (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from aiohttp import web
from aiohttp.typedefs import Handler

from ...domain.errors import (
    Conflict,
    EventHandlerNotFound,
    EventNotFound,
    ExecutionNotFound,
    HandlerNotFound,
    InvalidInput,
    InvalidTransition,
    JobNotFound,
    NotFound,
    TocsinError,
    Unavailable,
    VersionConflict,
    WorkerNotFound,
)
from .node import NODE
from .refusals import (
    Forbidden,
    Internal,
    Malformed,
    MethodNotAllowed,
    NoSuchRoute,
    NoVersionMatches,
    PositionGone,
    TooLarge,
    UnsupportedMediaType,
)
from .wire.problem import FieldErrorOut, Problem

PROBLEM_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = "1"

STATUSES: Final = MappingProxyType(
    {
        Malformed: HTTPStatus.BAD_REQUEST,
        Forbidden: HTTPStatus.FORBIDDEN,
        NotFound: HTTPStatus.NOT_FOUND,
        MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
        Conflict: HTTPStatus.CONFLICT,
        InvalidTransition: HTTPStatus.CONFLICT,
        PositionGone: HTTPStatus.GONE,
        VersionConflict: HTTPStatus.PRECONDITION_FAILED,
        NoVersionMatches: HTTPStatus.PRECONDITION_FAILED,
        TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
        Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    },
)
"""Class of error to status; what is not in it is a 500."""


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn whatever a handler raises into a problem document; what nobody foresaw is logged and told to nobody."""
    try:
        return await handler(request)
    except TocsinError as error:
        return _answer(error)
    except web.HTTPMethodNotAllowed as error:
        return _other_method(request, error)
    except web.HTTPRequestEntityTooLarge:
        return _answer(TooLarge(f"a body may have at most {request.client_max_size} bytes"))
    except web.HTTPNotFound:
        return _answer(NoSuchRoute("nothing is served under this path"))
    except Exception as error:  # noqa: BLE001 - the last line of defence: the caller learns nothing, the log all
        request.app[NODE].telemetry.error(
            "http.failed", method=request.method, path=request.path, error=repr(error), exc_info=error
        )
        return _answer(Internal("something went wrong on this node; its log says what"))


def problem_of(error: TocsinError) -> Problem:
    """Word an error as a problem."""
    status = next(
        (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), HTTPStatus.INTERNAL_SERVER_ERROR
    )
    return Problem(title=status.phrase, status=status, detail=error.message, code=error.code, **_members(error))


def _members(error: TocsinError) -> Mapping[str, Any]:
    members: dict[str, Any] = {}
    match error:
        case InvalidInput():
            members = {"errors": _field_errors(error)}
        case InvalidTransition():
            members = {"subject": error.subject, "current": str(error.current), "wanted": str(error.wanted)}
        case VersionConflict():
            members = {"expected_version": error.expected, "current_version": error.current}
        case Conflict(existing_id=UUID()):
            members = {"existing_id": error.existing_id}
    members |= {name: str(getattr(error, name)) for kind, name in _NAMED_IN.items() if isinstance(error, kind)}
    if isinstance(error, HandlerNotFound):
        members |= {"handler_name": error.name, "known_handlers": error.known}
    return members


_NAMED_IN: Final = MappingProxyType(
    {
        JobNotFound: "job_id",
        ExecutionNotFound: "execution_id",
        EventNotFound: "event_id",
        EventHandlerNotFound: "handler_id",
        WorkerNotFound: "worker_id",
    },
)
"""Where an error, and the problem, has the id that was asked for."""


def _field_errors(error: InvalidInput) -> tuple[FieldErrorOut, ...]:
    return tuple(FieldErrorOut(field=each.field, message=each.message) for each in error.errors)


def _answer(error: TocsinError) -> web.Response:
    problem = problem_of(error)
    response = web.Response(
        status=problem.status,
        body=problem.model_dump_json(exclude_none=True).encode(),
        content_type=PROBLEM_TYPE,
    )
    if isinstance(error, Unavailable):
        response.headers["Retry-After"] = RETRY_AFTER_SECONDS
    if isinstance(error, MethodNotAllowed):
        response.headers["Allow"] = ", ".join(error.allowed)
    return response


def _other_method(request: web.Request, error: web.HTTPMethodNotAllowed) -> web.Response:
    """Answer OPTIONS with what a path takes, and any other method with a refusal that says so."""
    allowed = {*error.allowed_methods, "OPTIONS"}
    if request.method == "OPTIONS":
        return web.Response(status=HTTPStatus.NO_CONTENT, headers={"Allow": ", ".join(sorted(allowed))})
    return _answer(MethodNotAllowed(request.method, allowed))
