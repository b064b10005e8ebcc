"""Which engines the URLs name: the stores, the pipe from them to the executors, and the bells between nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .adapters.memory import LocalBells, memory_storage
from .domain.errors import InvalidInput
from .domain.outage import Outage
from .ports.bells import Bells
from .ports.clock import Clock
from .ports.dispatcher import Dispatcher
from .ports.storage import Storage
from .ports.telemetry import Telemetry
from .settings import Settings

if TYPE_CHECKING:
    from .adapters.postgres import Access
    from .adapters.redis import RedisEventStreams

WAKE_SECONDS: Final = 5.0
WAKE_SECONDS_WITHOUT_BELL: Final = 1.0
"""Where nodes hear nothing of each other, each looks more often, and sooner asks what got lost."""

FIRST_BACKOFF: Final = 0.1
LONGEST_BACKOFF: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """
    Everything of a node that other nodes may share; `wake_seconds` caps every wait of its loops.

    Without a `pipe` each process dispatches to itself. `connections`, if there is a pool of them, tells how many are
    open and how many of these are at work; from any thread. `streams` carry events where there is Redis.
    """

    storage: Storage
    pipe: Dispatcher | None
    bells: Bells
    wake_seconds: float
    connections: Callable[[], tuple[int, int]] | None = None
    streams: RedisEventStreams | None = None


async def database_reached(settings: Settings, telemetry: Telemetry) -> None:
    """
    Wait until the database's server can be reached, and tell in the log why it cannot; a file need not be awaited.

    Raises:
        InvalidInput: the URL is of no use.
        StoreUnavailable: the server refuses, which no waiting cures.
    """
    if not settings.uses_postgres:
        return
    from .adapters.postgres import Unreachable  # noqa: PLC0415 - see `open_engines`

    access, outage, backoff = access_of(settings), Outage(), FIRST_BACKOFF
    while True:
        try:
            connection = await access.connect()
        except Unreachable as error:
            if outage.fail(str(error), now := time.monotonic()):
                telemetry.warning("database.awaited", error=str(error), seconds=outage.lasted(now))
        else:
            connection.terminate()
            break
        await asyncio.sleep(backoff)
        backoff = min(backoff * 2, LONGEST_BACKOFF)
    if (seconds := outage.end(time.monotonic())) is not None:
        telemetry.info("database.reached", seconds=seconds)


@asynccontextmanager
async def open_engines(
    settings: Settings, clock: Clock, telemetry: Telemetry, *, worker_id: str
) -> AsyncIterator[Engines]:
    """
    Open what the URLs name, and import no more than that; `clock` is the clock of a store that has none of its own.

    Raises:
        InvalidInput: a URL is of no use.
        StoreUnavailable: the database cannot be opened. Redis need not be there yet.
    """
    async with AsyncExitStack() as stack:
        if settings.uses_postgres:
            yield await _on_postgres(settings, telemetry, stack, worker_id)
            return
        if settings.database_path is None:
            storage, wake = memory_storage(clock), WAKE_SECONDS
        else:
            from .adapters.sqlite import open_sqlite  # noqa: PLC0415 - see above

            storage = await stack.enter_async_context(open_sqlite(settings.database_path, clock))
            wake = WAKE_SECONDS_WITHOUT_BELL
        yield Engines(storage=storage, pipe=None, bells=LocalBells(), wake_seconds=wake)


async def _on_postgres(settings: Settings, telemetry: Telemetry, stack: AsyncExitStack, worker_id: str) -> Engines:
    from .adapters.postgres import (  # noqa: PLC0415 - see `open_engines`
        PostgresBells,
        PostgresDispatcher,
        open_database,
        postgres_storage,
    )

    database = await stack.enter_async_context(open_database(access_of(settings)))
    bells = await stack.enter_async_context(PostgresBells(database, telemetry))
    pipe: Dispatcher
    streams = None
    if settings.redis_url is None:
        pipe = PostgresDispatcher(database, bells)
    else:
        pipe, streams = await _on_redis(settings.redis_url, telemetry, stack, worker_id)
    return Engines(
        storage=postgres_storage(database),
        pipe=pipe,
        bells=bells,
        wake_seconds=WAKE_SECONDS_WITHOUT_BELL if settings.database_pooler else WAKE_SECONDS,
        connections=lambda: database.connections,
        streams=streams,
    )


async def _on_redis(
    url: str, telemetry: Telemetry, stack: AsyncExitStack, worker_id: str
) -> tuple[Dispatcher, RedisEventStreams]:
    from .adapters.redis import open_redis_dispatcher, open_redis_event_streams  # noqa: PLC0415 - see `open_engines`

    try:
        pipe = await stack.enter_async_context(open_redis_dispatcher(url, telemetry, consumer=worker_id))
    except ValueError as error:
        raise InvalidInput.of("redis_url", str(error)) from None
    return pipe, await stack.enter_async_context(open_redis_event_streams(url, telemetry, consumer=worker_id))


def access_of(settings: Settings) -> Access:
    """Word how the settings want PostgreSQL to be reached."""
    from .adapters.postgres import Access  # noqa: PLC0415 - see `open_engines`

    return Access(url=settings.database_url, pooler=settings.database_pooler, connections=settings.database_connections)
