"""An endpoint: how it is called, what it takes and what it answers. The server and the document are made of these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, get_args, get_type_hints
from uuid import UUID

from aiohttp import web

from ...domain.errors import ExecutionNotFound, JobNotFound
from ...ports.scheduler import IScheduler
from .etag import expected_version
from .node import NODE, Node
from .reading import read_body, read_id, read_query
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
    def worker_id(self) -> str:
        """The worker in the path; its id is a name and a boot id, `name#boot`, so the path has `%23`."""
        return self.request.match_info["worker_id"]

    @property
    def expected_version(self) -> int | None:
        """The version that the caller believes to change."""
        return expected_version(self.request)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[Query, Body]):
    """
    One method of one path.

    `answers` maps the statuses of success, and of health, to what they carry; `conflicts` and
    `versioned` say which refusals it can make beside the usual ones.
    """

    method: str
    path: str
    answers: Mapping[int, Answered]
    handle: Callable[[Call[Query, Body]], Awaitable[web.Response]]
    query: type[Query]
    body: type[Body]
    conflicts: bool
    versioned: bool

    @property
    def name(self) -> str:
        """The operation's id in the document."""
        return getattr(self.handle, "__name__", "")

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.handle.__doc__ or "").strip().removesuffix(".")

    @property
    def takes_body(self) -> bool:
        """Whether a body can say anything."""
        return self.body is not Nothing

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Read a request as its models say, and handle it."""
        query = read_query(request, self.query)
        body = await read_body(request, self.body)
        return await self.handle(Call(request=request, query=query, body=body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Endpoints that belong together."""

    name: str
    endpoints: Sequence[Endpoint[Any, Any]]


def endpoint(
    method: str, path: str, answers: Mapping[int, Answered], *, conflicts: bool = False, versioned: bool = False
) -> Callable[[Callable[[Call[Query, Body]], Awaitable[web.Response]]], Endpoint[Query, Body]]:
    """
    Make an endpoint of a function.

    Its name becomes the operation's id, its docstring the summary, and the types of its `call` are what
    requests are read into, so that the document, the validation and the code cannot differ.
    """

    def make(handle: Callable[[Call[Query, Body]], Awaitable[web.Response]]) -> Endpoint[Query, Body]:
        query, body = get_args(get_type_hints(handle)["call"])
        return Endpoint(
            method=method,
            path=path,
            answers=answers,
            handle=handle,
            query=query,
            body=body,
            conflicts=conflicts,
            versioned=versioned,
        )

    return make
