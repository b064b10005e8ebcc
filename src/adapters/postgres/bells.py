"""Bells by NOTIFY, which one connection of each node listens to."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from ...domain.errors import StoreUnavailable
from ...domain.outage import Outage
from ...ports.telemetry import Telemetry
from .connection import translated
from .database import Database
from .statements import statements

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

CHANNEL: Final = "tocsin"
SPACING: Final = 0.025
"""Seconds between two messages of one node, at least; what rings meanwhile is one message."""

ATTENTION: Final = 5.0
"""Seconds after which a silent connection is asked whether it still is one."""

FIRST_BACKOFF: Final = 0.1
LONGEST_BACKOFF: Final = 5.0
FAREWELL: Final = 1.0
"""Seconds that the last rings of a node may take when it closes."""

_SQL: Final = statements("bells")


class PostgresBells:
    """
    Rings through the database, from when it is entered as a context until it is left.

    One connection beside the pool listens, and is made again when it was lost; then every bell of this node rings
    once. Behind a pooler nothing can listen: rings reach this node's listeners alone, and those of nodes that are
    connected directly. A message names its bell and who rang it, who has heard it already; by hand the name will do.

    Its tasks outlive being cancelled by anybody else, as handlers can.
    """

    def __init__(self, database: Database, telemetry: Telemetry) -> None:
        self.listening = False
        self._database = database
        self._telemetry = telemetry
        self._ringer = secrets.token_hex(8)
        self._callbacks: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)
        self._rung: set[str] = set()
        self._any_rung = asyncio.Event()
        self._backoff = FIRST_BACKOFF
        self._outage = Outage()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        self._run("ring", self._tell_others)
        if not self._database.access.pooler:
            self._run("listen", self._hear_others)
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks, self._tasks = self._tasks, {}
        for task in tasks.values():
            task.cancel()
        await asyncio.wait(tasks.values())
        # What a stopping node hands back need not wait until others look by themselves.
        try:
            async with asyncio.timeout(FAREWELL):
                await self._tell()
        except TimeoutError:
            pass

    def ring(self, name: str) -> None:
        """Wake this node's listeners, and have the others told."""
        self._ring_here(name)
        self._rung.add(name)
        self._any_rung.set()

    def listen(self, name: str, callback: Callable[[], None]) -> None:
        """Call back at each ring."""
        self._callbacks[name].append(callback)

    def _ring_here(self, name: str) -> None:
        for callback in self._callbacks.get(name, ()):
            callback()

    def _run(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks[name] = task = asyncio.create_task(work(), name=f"tocsin bells {name}")
        task.add_done_callback(lambda ended: self._run(name, work) if self._tasks.get(name) is ended else None)

    async def _tell_others(self) -> None:
        while True:
            await self._any_rung.wait()
            await self._tell()
            await asyncio.sleep(SPACING)

    async def _tell(self) -> None:
        names, self._rung = self._rung, set()
        self._any_rung.clear()
        if not names:
            return
        try:
            await self._database.rows(_SQL["ring_bells"], channel=CHANNEL, ringer=self._ringer, names=sorted(names))
        except Exception as error:  # noqa: BLE001 - a ring may be lost, the ringing may not end
            self._telemetry.warning("bells.unheard", bells=sorted(names), error=str(error))

    async def _hear_others(self) -> None:
        while True:
            try:
                await self._attend()
            except Exception as error:  # noqa: BLE001 - whatever it was, the listening may not end
                now = time.monotonic()
                if self._outage.fail(type(error).__name__, now):
                    tries, seconds = self._outage.failures, self._outage.lasted(now)
                    self._telemetry.warning("bells.deaf", error=str(error), failures=tries, seconds=seconds)
            # A server that comes back meets its nodes one by one.
            await asyncio.sleep(self._backoff * random.uniform(0.5, 1))  # noqa: S311 - spreads attempts, guards nothing
            self._backoff = min(self._backoff * 2, LONGEST_BACKOFF)

    async def _attend(self) -> None:
        """
        Listen on a connection for as long as it lives.

        Raises:
            StoreUnavailable: it was lost, or could not be made.
        """
        connection = await self._database.access.connect()
        try:
            with translated():
                await self._listen_on(connection)
        finally:
            self.listening = False
            connection.terminate()

    async def _listen_on(self, connection: Connection) -> None:
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        async with asyncio.timeout(self._database.access.deadline):
            await connection.add_listener(CHANNEL, self._heard)
        self.listening, self._backoff = True, FIRST_BACKOFF
        if (seconds := self._outage.end(time.monotonic())) is None:
            self._telemetry.debug("bells.listening")
        else:
            self._telemetry.info("bells.heard", seconds=seconds)
        for name in list(self._callbacks):
            self._ring_here(name)
        while not await _within(ATTENTION, lost):
            async with asyncio.timeout(self._database.access.deadline):
                await connection.execute("SELECT 1")
        raise StoreUnavailable("the connection that listens was lost")

    def _heard(self, _connection: object, _pid: int, _channel: str, message: object) -> None:
        name, _, ringer = str(message).partition("@")
        if ringer != self._ringer:
            self._ring_here(name)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
