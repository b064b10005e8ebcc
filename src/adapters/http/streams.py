"""Server-sent events (WHATWG HTML, 9.2): answers that go on until one side has enough."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from aiohttp import web

from ...domain.errors import Unavailable
from .node import NODE

EVENT_STREAM: Final = "text/event-stream"
LAST_EVENT_ID: Final = "Last-Event-ID"

STREAMS_LIMIT: Final = 200
"""How many streams one node has open at once."""

RETRY_MS: Final = 2000
"""How long a client waits before it comes back."""

HEARTBEAT_SECONDS: Final = 15.0
WRITE_SECONDS: Final = 30.0
"""How long a reader may take for what was sent, before it is dropped; meanwhile nothing more is read for it."""

LOOK_SECONDS: Final = 1.0
"""How often is looked whether a reader is still there."""

DEADLINE: Final = web.RequestKey("deadline", asyncio.Timeout)
"""When a request is given up; a stream has no end of its own."""

_HEADERS: Final = {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: `id` is what a client names to go on behind it; without data it tells the id alone."""

    id: str | None = None
    event: str | None = None
    data: str | None = None

    def encoded(self) -> bytes:
        """Write the message; its data has one line."""
        named = (("id", self.id), ("event", self.event), ("data", self.data))
        return "".join(f"{name}: {value}\n" for name, value in named if value is not None).encode() + b"\n"


@dataclass(slots=True, kw_only=True)
class Streams:
    """The streams that a node has open."""

    limit: int = STREAMS_LIMIT
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    write_seconds: float = WRITE_SECONDS
    _open: set[asyncio.Task[None]] = field(default_factory=set)
    _is_closed: bool = False

    async def answer(self, request: web.Request, messages: AsyncGenerator[Message, None]) -> web.StreamResponse:
        """
        Send messages as they come, and a comment where none did for a while; until they end or the reader is gone.

        Raises:
            Unavailable: as many streams are open as there may be, or the node stops.
        """
        async with aclosing(messages):
            response = web.StreamResponse(status=HTTPStatus.OK, headers=_HEADERS)
            if request.method == "HEAD":
                return response
            if self._is_closed or len(self._open) >= self.limit:
                raise Unavailable(f"this node has {len(self._open)} streams open, or is about to stop")
            pump = asyncio.create_task(self._pump(request, response, messages))
            self._open.add(pump)
            try:
                request[DEADLINE].reschedule(None)
                await _until_gone(request, pump)
            finally:
                self._open.discard(pump)
                await _cancelled(pump)
        _conclude(request, response, pump)
        return response

    async def close(self) -> None:
        """End every stream, and open no more."""
        self._is_closed = True
        await asyncio.gather(*map(_cancelled, tuple(self._open)))

    async def _pump(
        self, request: web.Request, response: web.StreamResponse, messages: AsyncGenerator[Message, None]
    ) -> None:
        await response.prepare(request)
        await response.write(f"retry: {RETRY_MS}\n\n".encode())
        async with aclosing(_with_heartbeats(messages, self.heartbeat_seconds)) as beating:
            async for message in beating:
                try:
                    # Not wait_for, which in Python 3.11 may swallow the cancellation that ends a stream.
                    async with asyncio.timeout(self.write_seconds):
                        await response.write(b":\n\n" if message is None else message.encoded())
                except (TimeoutError, ConnectionError):
                    # Nobody reads: what waits in the connection is not worth keeping.
                    _abort(request)
                    return


async def _until_gone(request: web.Request, pump: asyncio.Task[None]) -> None:
    """Wait until a stream ends, or until its reader, of whom nobody tells, has gone."""
    while not pump.done() and request.transport is not None and not request.transport.is_closing():
        await asyncio.wait({pump}, timeout=LOOK_SECONDS)


def _conclude(request: web.Request, response: web.StreamResponse, pump: asyncio.Task[None]) -> None:
    """Have what went wrong before the first message answered; later the client can only be left to come back."""
    error = None if pump.cancelled() else pump.exception()
    if error is not None and not response.prepared:
        raise error
    if error is not None:
        request.app[NODE].telemetry.warning("http.stream_cut", path=request.path, error=repr(error))
    elif pump.cancelled() and request.transport is not None and request.transport.get_write_buffer_size():
        # A node that stops waits for no slow reader.
        _abort(request)


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def _with_heartbeats(
    messages: AsyncGenerator[Message, None], seconds: float
) -> AsyncGenerator[Message | None, None]:
    """Give messages as they come, and None whenever none came for so long."""
    coming: asyncio.Task[Message] | None = None
    try:
        while True:
            coming = coming or asyncio.create_task(_next(messages))
            done, _ = await asyncio.wait({coming}, timeout=seconds)
            if not done:
                yield None
                continue
            try:
                message = coming.result()
            except _Over:
                return
            coming = None
            yield message
    finally:
        if coming is not None:
            await _cancelled(coming)


class _Over(Exception):
    """There are no more; a task cannot end in StopAsyncIteration."""


async def _next(messages: AsyncGenerator[Message, None]) -> Message:
    try:
        return await anext(messages)
    except StopAsyncIteration:
        raise _Over from None


async def _cancelled(task: asyncio.Task[Message] | asyncio.Task[None]) -> None:
    """Cancel a task and wait until it is gone, whatever it ends with."""
    while not task.done():
        # More than once, since what it waits for may swallow a cancellation.
        task.cancel()
        await asyncio.wait({task}, timeout=LOOK_SECONDS)
    if not task.cancelled():
        task.exception()


STREAMS: Final = web.AppKey("streams", Streams)


async def close_streams(app: web.Application) -> None:
    """End the streams of an application that shuts down."""
    await app[STREAMS].close()
