"""Our sessions as the server tells of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

_OURS: Final = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tocsin'"
_PATIENCE: Final = 30.0

CUT: Final = f"SELECT pg_terminate_backend(pid, 10000) {_OURS}"
COUNT: Final = f"SELECT count(*) {_OURS}"
_WAITING: Final = f"SELECT count(*) {_OURS} AND wait_event_type = 'Lock'"


async def until_calls_wait_for_a_lock(connection: Connection, calls: int) -> None:
    """Wait until the server says that this many of ours wait, which it tells nobody of its own accord."""
    async with asyncio.timeout(_PATIENCE):
        while await _waiting(connection) != calls:  # noqa: ASYNC110 - there is no event in this process
            await asyncio.sleep(0.01)


async def _waiting(connection: Connection) -> int:
    # Else a transaction sees them for ever as it first saw them.
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    return int(await connection.fetchval(_WAITING))
