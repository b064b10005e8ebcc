"""Requests to a Tocsin server, and what becomes of its answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from types import TracebackType
from typing import Final, Self, TypeVar

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout
from pydantic import ValidationError
from yarl import URL

from ...domain.errors import InvalidInput, InvalidJob, ServerUnreachable
from ...domain.json import Json, encoded
from .etag import entity_tag
from .failures import UnexpectedAnswer, error_of, unreachable
from .streams import EVENT_STREAM, HEARTBEAT_SECONDS
from .wire import BASE
from .wire.model import Output

AnyOutput = TypeVar("AnyOutput", bound=Output)

CONNECT_SECONDS: Final = 5.0
TOTAL_SECONDS: Final = 40.0
"""A little more than a server takes before it gives up by itself."""

SILENT_SECONDS: Final = 3 * HEARTBEAT_SECONDS

_SUCCESS: Final = range(200, 300)


class Transport:
    """
    Sends requests to one server; an async context manager that closes the session it made itself.

    Raises (construction):
        InvalidInput: `base_url` is no http or https address.
    """

    def __init__(self, base_url: str, *, session: ClientSession | None = None, total_seconds: float) -> None:
        self._base = _checked(base_url)
        self._given = session
        self._session = session
        self._total_seconds = total_seconds

    async def __aenter__(self) -> Self:
        """Open a session, unless one was given."""
        self._session = self._given or ClientSession()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session, unless it was given."""
        if self._session is not None and self._given is None:
            await self._session.close()
        self._session = self._given

    async def ask(
        self,
        model: type[AnyOutput],
        method: str,
        path: str,
        *,
        query: Iterable[tuple[str, str]] = (),
        body: Json = None,
        version: int | None = None,
        also: Collection[int] = (),
        extra_seconds: float = 0,
    ) -> AnyOutput:
        """
        Send a request and read its answer; a status in `also` carries the same shape as success.

        `extra_seconds` is how much longer than usual a server may take.

        `path` is taken as it is: what in it is not ours must be quoted.

        Raises:
            TocsinError: what the server's problem document says.
            ServerUnreachable: no server answered.
            UnexpectedAnswer: something else answered.
        """
        headers = {} if version is None else {"If-Match": entity_tag(version)}
        patience = self._patience(extra_seconds)
        async with self._sent(method, path, query=query, body=body, headers=headers, patience=patience) as response:
            status, answer = response.status, await response.read()
        if status not in _SUCCESS and status not in also:
            raise error_of(status, answer)
        try:
            return model.model_validate_json(answer)
        except ValidationError:
            if status not in _SUCCESS:
                raise error_of(status, answer) from None
            raise UnexpectedAnswer(f"{method} {path}: not what a Tocsin server answers", status=status) from None

    async def tell(self, method: str, path: str, *, version: int | None = None) -> None:
        """Send a request whose answer has no body; errors as for `ask`."""
        headers = {} if version is None else {"If-Match": entity_tag(version)}
        async with self._sent(method, path, headers=headers, patience=self._patience()) as response:
            if response.status not in _SUCCESS:
                raise error_of(response.status, await response.read())

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Iterable[tuple[str, str]], headers: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """
        Read an answer in parts, as they come; one that is silent for `SILENT_SECONDS` is lost.

        Raises:
            as for `ask`.
        """
        patience = ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=SILENT_SECONDS)
        headers = {"Accept": EVENT_STREAM, **headers}
        async with self._sent("GET", path, query=query, headers=headers, patience=patience) as response:
            if response.status not in _SUCCESS:
                raise error_of(response.status, await response.read())
            if response.content_type != EVENT_STREAM:
                raise UnexpectedAnswer(f"GET {path}: not what a Tocsin server answers", status=response.status)
            yield response.content.iter_any()

    def _patience(self, extra_seconds: float = 0) -> ClientTimeout:
        return ClientTimeout(total=self._total_seconds + extra_seconds, sock_connect=CONNECT_SECONDS)

    @asynccontextmanager
    async def _sent(
        self,
        method: str,
        path: str,
        *,
        query: Iterable[tuple[str, str]] = (),
        body: Json = None,
        headers: Mapping[str, str],
        patience: ClientTimeout,
    ) -> AsyncIterator[ClientResponse]:
        if self._session is None:
            raise RuntimeError("enter the client with `async with` before using it")
        typed = {} if body is None else {"Content-Type": "application/json"}
        try:
            async with self._session.request(
                method,
                self._base.joinpath(*path.strip("/").split("/"), encoded=True).with_query(list(query)),
                data=None if body is None else BytesIO(_bytes(body)),
                headers={**typed, **headers},
                timeout=patience,
                allow_redirects=False,
            ) as response:
                yield response
        except (ClientError, TimeoutError, OSError) as error:
            raise ServerUnreachable(f"no answer from {self._base.origin()}: {unreachable(error)}") from error


def _checked(base_url: str) -> URL:
    try:
        url = URL(base_url)
        if url.scheme in {"http", "https"} and url.host:
            return url.with_query(None).with_fragment(None) / BASE.strip("/")
    except ValueError:
        pass
    raise InvalidInput.of("base_url", "must be an http or https address, such as http://127.0.0.1:8080")


def _bytes(body: Json) -> bytes:
    try:
        return encoded(body).encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidJob.of(_unspeakable(body), "must be JSON: no NaN, no lone surrogates, only JSON's types") from None


def _unspeakable(body: Json) -> str:
    """Name the field that has no JSON form."""
    for name, value in body.items() if isinstance(body, Mapping) else ():
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError):
            return name
    return "body"
