"""An endpoint: how it is called, what it takes and what it answers. The server and the document are made of these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import getdoc
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar, Unpack, get_args, get_type_hints
from uuid import UUID

from aiohttp import web
from pydantic import BaseModel

from ...domain.errors import EventHandlerNotFound, EventNotFound, ExecutionNotFound, JobNotFound
from ...ports.scheduler import IScheduler
from .etag import expected_version
from .node import NODE, Node
from .reading import JSON, read_body, read_id, read_query
from .wire.model import Input, Nothing, Output

Query = TypeVar("Query", bound=Input)
Body = TypeVar("Body", bound=Input)

Answered: TypeAlias = type[Output] | str | None
"""A JSON body of this shape, a body of this media type, or no body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Query, Body]):
    """One request, read and held against its endpoint."""

    request: web.Request
    query: Query
    body: Body

    @property
    def node(self) -> Node:
        """The node that was asked."""
        return self.request.app[NODE]

    @property
    def scheduler(self) -> IScheduler:
        """The scheduler as the caller's tenant."""
        return self.node.scheduler

    @property
    def job_id(self) -> UUID:
        """The job in the path."""
        return read_id(self.request, "job_id", JobNotFound)

    @property
    def execution_id(self) -> UUID:
        """The execution in the path."""
        return read_id(self.request, "execution_id", ExecutionNotFound)

    @property
    def event_id(self) -> UUID:
        """The event in the path."""
        return read_id(self.request, "event_id", EventNotFound)

    @property
    def handler_id(self) -> UUID:
        """The event handler in the path."""
        return read_id(self.request, "handler_id", EventHandlerNotFound)

    @property
    def worker_id(self) -> str:
        """The worker in the path; its id is a name and a boot id, `name#boot`, so the path has `%23`."""
        return self.request.match_info["worker_id"]

    @property
    def expected_version(self) -> int | None:
        """The version that the caller believes to change."""
        return expected_version(self.request)


class Particulars(TypedDict, total=False):
    """The fields of `Beside`."""

    conflicts: bool
    versioned: bool
    refusals: Sequence[int]
    bodies: Mapping[str, type[BaseModel]]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """
    What is particular about an endpoint.

    `conflicts`, `versioned` and `refusals` say which refusals it can make beside the usual ones. `bodies` are the media
    types that it reads by itself, each with what it carries; `headers` those that it looks at, each with what for.
    """

    conflicts: bool = False
    versioned: bool = False
    refusals: Sequence[int] = ()
    bodies: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[Query, Body]):
    """One method of one path; `answers` maps the statuses of success, and of health, to what they may carry."""

    method: str
    path: str
    answers: Mapping[int, Sequence[Answered]]
    handle: Callable[[Call[Query, Body]], Awaitable[web.StreamResponse]]
    query: type[Query]
    body: type[Body]
    beside: Beside

    @property
    def name(self) -> str:
        """The operation's id in the document."""
        return getattr(self.handle, "__name__", "")

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return self._words[0].removesuffix(".")

    @property
    def description(self) -> str:
        """What else is to be said of it, empty if nothing."""
        return " ".join(self._words[2].split())

    @property
    def _words(self) -> tuple[str, str, str]:
        return (getdoc(self.handle) or "").partition("\n\n")

    @property
    def bodies(self) -> Mapping[str, type[BaseModel]]:
        """The media types that can say anything, each with what it carries."""
        return self.beside.bodies or ({} if self.body is Nothing else {JSON: self.body})

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Read a request as its models say, and handle it."""
        query = read_query(request, self.query)
        body = self.body() if self.beside.bodies else await read_body(request, self.body)
        return await self.handle(Call(request=request, query=query, body=body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Endpoints that belong together."""

    name: str
    endpoints: Sequence[Endpoint[Any, Any]]


Answers: TypeAlias = Mapping[int, Answered | tuple[Answered, ...]]
Handle: TypeAlias = Callable[[Call[Query, Body]], Awaitable[web.StreamResponse]]


def endpoint(
    method: str, path: str, answers: Answers, **beside: Unpack[Particulars]
) -> Callable[[Handle[Query, Body]], Endpoint[Query, Body]]:
    """
    Make an endpoint of a function.

    Its name becomes the operation's id, its docstring the summary, and the types of its `call` are what
    requests are read into, so that the document, the validation and the code cannot differ.
    """

    def make(handle: Handle[Query, Body]) -> Endpoint[Query, Body]:
        query, body = get_args(get_type_hints(handle)["call"])
        return Endpoint(
            method=method,
            path=path,
            answers={status: each if isinstance(each, tuple) else (each,) for status, each in answers.items()},
            handle=handle,
            query=query,
            body=body,
            beside=Beside(**beside),
        )

    return make
