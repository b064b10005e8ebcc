"""A wire between a node and a server that a test can cut, silence or slow, and mend."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Self
from urllib.parse import urlsplit, urlunsplit

CHUNK: Final = 65_536
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class Proxy:
    """
    Carries TCP connections from a loopback port of its own to a server.

    `cut` resets every connection and each new one; `silence` keeps all of them open and lets nothing through, as a
    network that drops packets does: what was sent meanwhile arrives once it is mended, late but whole, as TCP would
    send it again. `slow` delays each piece. `mend` ends all three.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._listener: asyncio.Server | None = None
        self._connections: set[tuple[asyncio.StreamWriter, asyncio.Task[None]]] = set()
        self._passing = asyncio.Event()
        self._passing.set()
        self._is_cut = False
        self._delay = 0.0

    @property
    def port(self) -> int:
        """The port under which the server is reached through this wire."""
        if self._listener is None:
            raise RuntimeError("the proxy does not listen")
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    def in_place_of(self, url: str) -> str:
        """Name the server of a URL by this wire."""
        parts = urlsplit(url)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{self.port}"))

    def cut(self) -> None:
        """Reset every connection, and each that is tried from now on."""
        self._is_cut = True
        for _, carrying in self._connections:
            carrying.cancel()

    def silence(self) -> None:
        """Let nothing through, and close nothing."""
        self._passing.clear()

    def slow(self, seconds: float) -> None:
        """Delay each piece of data, either way."""
        self._delay = seconds

    def mend(self) -> None:
        """Carry again."""
        self._is_cut, self._delay = False, 0.0
        self._passing.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carrying = asyncio.current_task()
        if carrying is None:
            raise RuntimeError("connections are carried in tasks")
        self._connections.add((writer, carrying))
        try:
            if not self._is_cut:
                await self._join(reader, writer)
        # A task that a server of streams owns must not end as cancelled: asyncio would report it.
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard((writer, carrying))
            _reset(writer)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._passing.wait()
        far_reader, far_writer = await asyncio.open_connection(*self._server)
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._pass(reader, far_writer))
                ways.create_task(self._pass(far_reader, writer))
        except* OSError:
            pass
        finally:
            _reset(far_writer)

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(CHUNK):
            if self._delay:
                await asyncio.sleep(self._delay)
            await self._passing.wait()
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        if self._listener is not None:
            self._listener.close()
        if tasks := [carrying for _, carrying in self._connections]:
            await asyncio.wait(tasks)


@asynccontextmanager
async def wire_to(url: str) -> AsyncIterator[tuple[Proxy, str]]:
    """Lay a wire to the server of a URL, and answer it with the URL that goes through it."""
    parts = urlsplit(url)
    if parts.hostname is None or parts.port is None:
        raise ValueError(f"{url} names no host and port")
    async with Proxy(parts.hostname, parts.port) as proxy:
        yield proxy, proxy.in_place_of(url)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with a reset, so that the other end learns of it at once."""
    end = writer.get_extra_info("socket")
    if end is not None:
        with suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()
