"""Locks by name."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Final

from ...ports.locks import Token
from .database import Database
from .statements import statements

_LOCKS: Final = statements("locks")


class PostgresLocks:
    """Leases by their name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def acquire(self, name: str, *, holder: str, lease: timedelta) -> Token | None:
        """Take the lock if it is free or has lapsed."""
        secret = secrets.token_hex(16)
        fences = await self._database.column(
            _LOCKS["take"], name=name, secret=secret, holder=holder, lease=lease, now=self._database.now
        )
        return Token(name=name, fence=fences[0], secret=secret) if fences else None

    async def renew(self, token: Token, lease: timedelta) -> bool:
        """Extend the lease of whoever still has the lock."""
        return bool(
            await self._database.column(
                _LOCKS["renew"], name=token.name, secret=token.secret, lease=lease, now=self._database.now
            )
        )

    async def release(self, token: Token) -> bool:
        """Free the lock of whoever still has it."""
        return bool(await self._database.column(_LOCKS["release"], name=token.name, secret=token.secret))
