"""One transaction, as the code inside it sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .news import News
from .statements import Statement

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import PoolConnectionProxy

    Connection: TypeAlias = PoolConnectionProxy[Record]

Row: TypeAlias = Mapping[str, Any]
"""A row by the names of its columns; iterated over it gives values, so it is read by name, or made a dict."""

Parameters: TypeAlias = Mapping[str, Any]
"""What the named parameters of a statement stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """
    A transaction under way.

    `now` is when it began, by the server's clock, `limit` when it must have ended; `news` is told before it commits.
    """

    connection: Connection
    now: datetime
    limit: asyncio.Timeout
    news: News = field(default_factory=News)

    def take_longer(self, seconds: float) -> None:
        """Give the transaction, from here on, more time than others have; each of its statements has what all have."""
        at = asyncio.get_running_loop().time() + seconds
        self.limit.reschedule(max(at, self.limit.when() or at))

    async def rows(self, statement: Statement, **parameters: object) -> list[Row]:
        """Run a statement and read all that it answers."""
        found = await self.connection.fetch(statement.text, *statement.arguments(parameters))
        return cast("list[Row]", found)

    async def row(self, statement: Statement, **parameters: object) -> Row | None:
        """Run a statement and read the one row that it answers, if any."""
        found = await self.rows(statement, **parameters)
        return found[0] if found else None

    async def column(self, statement: Statement, **parameters: object) -> list[Any]:
        """Run a statement and read the first column of what it answers."""
        return [row[0] for row in await self.connection.fetch(statement.text, *statement.arguments(parameters))]

    async def run(self, statement: Statement, **parameters: object) -> None:
        """Run a statement that answers nothing."""
        await self.connection.execute(statement.text, *statement.arguments(parameters))

    async def run_for(self, statement: Statement, rows: Sequence[Parameters], **parameters: object) -> None:
        """Run a statement once for a set of rows, each of whose columns crosses as one array; for none, not at all."""
        if rows:
            await self.run(statement, **columns(rows), **parameters)

    @asynccontextmanager
    async def savepoint(self) -> AsyncGenerator[None]:
        """Undo what is written inside if it raises, and go on with the transaction."""
        await self.connection.execute("SAVEPOINT inside")
        try:
            yield
        except Exception:
            if not self.connection.is_closed():
                await self.connection.execute("ROLLBACK TO inside; RELEASE inside")
            raise
        await self.connection.execute("RELEASE inside")


def columns(rows: Iterable[Parameters]) -> dict[str, list[Any]]:
    """Turn rows, at least one and all of the same columns, into one list for each column."""
    listed = list(rows)
    return {name: [row[name] for row in listed] for name in listed[0]}
