from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.faults.proxy import Proxy


@asynccontextmanager
async def wired() -> AsyncIterator[Proxy]:
    """A wire to a server that answers every line with itself."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, Proxy("127.0.0.1", server.sockets[0].getsockname()[1]) as proxy:
        yield proxy


class Client:
    """One end of a connection through a wire."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, line: bytes) -> None:
        self.writer.write(line)

    async def said(self, line: bytes) -> bytes:
        self.send(line)
        return await self.reader.readline()


@asynccontextmanager
async def client_of(proxy: Proxy) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def test_a_whole_wire_carries_both_ways() -> None:
    async with wired() as proxy, client_of(proxy) as client:
        assert await client.said(b"hello\n") == b"hello\n"


async def test_a_cut_wire_resets_what_is_open_and_what_is_tried_until_it_is_mended() -> None:
    async with wired() as proxy, client_of(proxy) as client:
        await client.said(b"hello\n")

        proxy.cut()

        with pytest.raises(ConnectionError):
            await client.reader.readexactly(1)
        async with client_of(proxy) as another:
            with pytest.raises(ConnectionError):
                await another.reader.readexactly(1)
        proxy.mend()
        async with client_of(proxy) as third:
            assert await third.said(b"again\n") == b"again\n"


async def test_a_silent_wire_closes_nothing_and_delivers_late() -> None:
    async with wired() as proxy, client_of(proxy) as client:
        await client.said(b"hello\n")

        proxy.silence()
        client.send(b"late\n")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.reader.readline(), 0.2)
        proxy.mend()
        assert await client.reader.readline() == b"late\n"


async def test_a_slow_wire_delays_each_piece() -> None:
    async with wired() as proxy, client_of(proxy) as client:
        proxy.slow(0.2)
        before = asyncio.get_running_loop().time()

        assert await client.said(b"hello\n") == b"hello\n"

        assert asyncio.get_running_loop().time() - before >= 0.4


async def test_a_wire_stands_in_for_the_server_of_a_url() -> None:
    async with wired() as proxy:
        url = proxy.in_place_of("postgresql://user:secret@db.example:5432/name?sslmode=disable")

    assert url.startswith("postgresql://user:secret@127.0.0.1:")
    assert url.endswith("/name?sslmode=disable")
