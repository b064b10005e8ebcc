"""One PostgreSQL database as its callers see it: transactions within a deadline, on connections that heal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

import asyncpg

from ...domain.errors import StoreUnavailable
from ...ports.clock import Clock
from .connection import Access, translated
from .facts import tell
from .statements import Statement
from .transaction import Parameters, Row, Transaction

if TYPE_CHECKING:
    from .connection import Pool
    from .transaction import Connection

T = TypeVar("T")

Turn: TypeAlias = AbstractAsyncContextManager[None]
"""What is waited for before a connection is taken."""

_NOW: Final = "SELECT coalesce($1::timestamptz, now())"
_AGAIN: Final = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    # A newer node has changed the schema under a statement that was prepared before.
    asyncpg.InvalidCachedStatementError,
)
"""What is cured by running a transaction again from the start."""

_TRIES: Final = 5
CONTENTION: Final = "too many transactions stood in each other's way"
_SNAPSHOT: Final = " ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Database:
    """
    Whole transactions, each with one deadline, on a bounded pool.

    A connection that misses its deadline is thrown away, and the server told to give up soon after: nothing that was
    cut off goes on holding locks. Requests and snapshots, which long reports are made on, take no more than half of
    the pool: a heartbeat must not wait for them, or every lease of the node is given up. With a `clock` that one is
    now, in place of the server's, which is for tests.
    """

    def __init__(self, access: Access, clock: Clock | None = None) -> None:
        self.access = access
        self._clock = clock
        self._pool: Pool | None = None
        self._turns = asyncio.Semaphore(max(1, access.connections // 2))

    async def open(self) -> None:
        """
        Make the pool.

        Raises:
            StoreUnavailable: the URL or the server is of no use.
        """
        with translated():
            self._pool = await self.access.pool()

    async def close(self) -> None:
        """Close every connection, waiting no longer than a call may take."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(self.access.deadline):
                await pool.close()
        except TimeoutError:
            pool.terminate()

    @property
    def connections(self) -> tuple[int, int]:
        """How many connections of the pool are open, and how many of these are at work."""
        if self._pool is None:
            return 0, 0
        size = self._pool.get_size()
        return size, size - self._pool.get_idle_size()

    @property
    def now(self) -> datetime | None:
        """What stands in for the server's clock as the parameter `now`; None where that is asked itself."""
        return self._clock.now() if self._clock is not None else None

    async def write(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """
        Run a function in a transaction and commit; whatever it raises undoes all of it.

        It may run again from the start, if it and another one stood in each other's way.

        Raises:
            StoreUnavailable: no answer within the deadline; nothing was changed, unless it was the answer to
                the commit that got lost.
        """
        return await self._tried(lambda: self._transaction(work))

    async def change(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """
        Do as `write` does, for a request, of which any number may come at once.

        Raises:
            StoreUnavailable: as for `write`.
        """
        return await self._tried(lambda: self._transaction(work, turn=self._turns))

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """
        Run a function on a snapshot.

        Raises:
            StoreUnavailable: no answer within the deadline.
        """
        return await self._tried(lambda: self._transaction(work, _SNAPSHOT, turn=self._turns))

    async def rows(self, statement: Statement, **parameters: object) -> list[Row]:
        """
        Run one statement as a transaction of its own, in one round trip, and read all that it answers.

        Raises:
            StoreUnavailable: as for `write`.
        """
        return await self._rows(statement, parameters)

    async def ask(self, statement: Statement, **parameters: object) -> list[Row]:
        """
        Do as `rows` does, for a request, of which any number may come at once.

        Raises:
            StoreUnavailable: as for `write`.
        """
        return await self._rows(statement, parameters, turn=self._turns)

    async def column(self, statement: Statement, **parameters: object) -> list[Any]:
        """Run one statement as `rows` does, and read the first column."""
        return [next(iter(row.values())) for row in await self.rows(statement, **parameters)]

    async def _tried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        for _ in range(_TRIES):
            try:
                return await attempt()
            except _AGAIN:
                continue
        raise StoreUnavailable(CONTENTION)

    async def _rows(self, statement: Statement, parameters: Parameters, *, turn: Turn | None = None) -> list[Row]:
        if self.access.pooler:
            # A pooler may give every round trip to another connection but within a transaction.
            alone = partial(Transaction.rows, statement=statement, **parameters)
            return await self._tried(lambda: self._transaction(alone, turn=turn))
        arguments = statement.arguments(parameters)
        return await self._tried(lambda: self._statement(statement.text, arguments, turn))

    async def _statement(self, text: str, arguments: Sequence[object], turn: Turn | None) -> list[Row]:
        async with self._connection(turn) as (connection, _):
            return cast("list[Row]", await connection.fetch(text, *arguments))

    async def _transaction(
        self, work: Callable[[Transaction], Awaitable[T]], mode: str = "", *, turn: Turn | None = None
    ) -> T:
        async with self._connection(turn) as (connection, limit):
            await connection.execute(f"BEGIN{mode}{self.access.preamble}")
            try:
                now = await connection.fetchval(_NOW, self.now)
                transaction = Transaction(connection=connection, now=now, limit=limit)
                done = await work(transaction)
                await tell(transaction)
                await connection.execute("COMMIT")
            except Exception:
                # What a lost connection had begun is undone by the server.
                if not connection.is_closed():
                    await connection.execute("ROLLBACK")
                raise
        return done

    @asynccontextmanager
    async def _connection(self, turn: Turn | None = None) -> AsyncGenerator[tuple[Connection, asyncio.Timeout]]:
        """Lend a connection, once it is our turn, all that is done with it within the deadline, which comes with it."""
        if self._pool is None:
            raise StoreUnavailable("the database is closed")
        pool = self._pool
        with translated():
            async with asyncio.timeout(self.access.deadline) as limit, turn or nullcontext():
                connection = await pool.acquire()
                try:
                    yield connection, limit
                except asyncio.CancelledError:
                    # Whoever waits no longer cannot wait for the server's word that it gave up either.
                    connection.terminate()
                    raise
                finally:
                    await pool.release(connection)
