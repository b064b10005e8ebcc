"""A file as it tells of itself, for who looks for trouble."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final

from ...ports.conditions import LAPSED_FOR, DatabaseCondition
from . import migrate
from .connection import UnusableDatabase, connect, translated
from .instants import to_micros
from .statements import statements

_STATEMENTS: Final = statements("condition")
_PRAGMAS: Final = ("journal_mode", "page_size", "page_count", "freelist_count")
_BUSY_TIMEOUT: Final = 5.0


def condition(path: Path, now: datetime) -> DatabaseCondition:
    """
    Look at a file; `now` is this machine's, since a file has no clock.

    Raises:
        StoreUnavailable, UnusableDatabase: there is no such file, or as for `migrate.status`.
    """
    if not path.exists():
        raise UnusableDatabase(path, "there is no such file")
    steps = migrate.status(path)
    has_all = all(step.applied_at is not None for step in steps)
    with closing(connect(path, busy_timeout=_BUSY_TIMEOUT)) as connection, translated(path):
        settings = {name: str(_only(connection, f"PRAGMA {name}")) for name in _PRAGMAS}
        before = {"before": to_micros(now - LAPSED_FOR)}
        lapsed = connection.execute(_STATEMENTS["lapsed_leases"], before).fetchone()[0] if has_all else None
    return DatabaseCondition(
        engine="SQLite",
        version=sqlite3.sqlite_version,
        now=now,
        settings=settings,
        migrations=steps,
        lapsed_leases=lapsed,
    )


def _only(connection: sqlite3.Connection, statement: str) -> object:
    value: object = connection.execute(statement).fetchone()[0]
    return value
