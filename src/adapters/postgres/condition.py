"""A server as it tells of itself, for who looks for trouble."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...ports.conditions import LAPSED_FOR, DatabaseCondition
from . import migrate
from .connection import SCHEMA, Access, translated
from .statements import statements

if TYPE_CHECKING:
    from .migrate import Connection

_STATEMENTS: Final = statements("condition")
_SETTINGS: Final = (
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "max_connections",
    "superuser_reserved_connections",
    "in_recovery",
)


async def condition(access: Access) -> DatabaseCondition:
    """
    Look at the server and at the schema there; nothing is changed.

    Raises:
        InvalidInput: the URL cannot be read.
        StoreUnavailable, UnusableSchema: as for `migrate.status`.
    """
    steps = await migrate.status(access)
    connection = await access.connect()
    try:
        with translated():
            told = await connection.fetchrow(_STATEMENTS["condition"].text)
            has_all = all(step.applied_at is not None for step in steps)
            lapsed = await _lapsed_leases(connection) if has_all else None
    finally:
        connection.terminate()
    if told is None:
        raise AssertionError("a statement without a table answers one row")
    return DatabaseCondition(
        engine="PostgreSQL",
        version=str(told["version"]).split()[0],
        now=told["now"],
        settings={name: told[name] for name in _SETTINGS},
        migrations=steps,
        connections=int(told["connections"]),
        lapsed_leases=lapsed,
    )


async def _lapsed_leases(connection: Connection) -> int:
    statement = _STATEMENTS["lapsed_leases"]
    async with connection.transaction(readonly=True):
        # Through a pooler the session has no search path of ours.
        await connection.execute(f"SET LOCAL search_path = {SCHEMA}")
        count: int = await connection.fetchval(statement.text, *statement.arguments({"lapsed_for": LAPSED_FOR}))
    return count
