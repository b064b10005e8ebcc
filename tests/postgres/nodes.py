"""Nodes on one database, as far as bells and dispatch are concerned."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from tests.application.rig import Notes
from tocsin.adapters.postgres import Access, Database, PostgresBells, PostgresDispatcher
from tocsin.adapters.postgres.bells import CHANNEL
from tocsin.ports.bells import Bells

PATIENCE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What one process has of its own."""

    database: Database
    bells: PostgresBells
    dispatcher: PostgresDispatcher
    notes: Notes


@asynccontextmanager
async def a_node(url: str, *, pooler: bool = False, deadline: float = 10.0) -> AsyncIterator[Node]:
    """A node that hears the others, unless it is behind a pooler."""
    database, notes = Database(Access(url=url, pooler=pooler, deadline=deadline)), Notes()
    await database.open()
    try:
        async with PostgresBells(database, notes) as bells:
            if not pooler:
                await until(lambda: bells.listening)
            yield Node(database=database, bells=bells, dispatcher=PostgresDispatcher(database, bells), notes=notes)
    finally:
        await database.close()


@asynccontextmanager
async def a_connection(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A connection that is nobody's, which sees our tables."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "tocsin"})
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def messages_of(url: str) -> AsyncIterator[Callable[[str], asyncio.Future[list[str]]]]:
    """Give a function that answers the bells of all messages on the channel, once one has come for a last bell."""
    bells: list[str] = []
    awaited: dict[str, asyncio.Future[list[str]]] = {}

    def heard(_connection: object, _pid: int, _channel: str, message: object) -> None:
        bells.append(str(message).partition("@")[0])
        if future := awaited.pop(bells[-1], None):
            future.set_result(bells)

    def until_heard(last: str) -> asyncio.Future[list[str]]:
        return awaited.setdefault(last, asyncio.get_running_loop().create_future())

    async with a_connection(url) as connection:
        await connection.add_listener(CHANNEL, heard)
        yield until_heard


def heard_by(bells: Bells, name: str) -> asyncio.Event:
    """Give an event that is set once a bell was heard."""
    heard = asyncio.Event()
    bells.listen(name, heard.set)
    return heard


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what others are about to bring about."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what it waits for sets no event
            await asyncio.sleep(0.005)


async def wait(event: asyncio.Event) -> None:
    """Wait for an event that is sure to come."""
    async with asyncio.timeout(PATIENCE):
        await event.wait()
