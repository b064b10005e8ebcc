"""Locks by name."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Final

from ...ports.locks import Token
from .database import Database
from .instants import span_micros
from .statements import statements
from .transaction import Transaction

_LOCKS: Final = statements("locks")


class SqliteLocks:
    """Leases by their name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def acquire(self, name: str, *, holder: str, lease: timedelta) -> Token | None:
        """Take the lock if it is free or has lapsed."""
        secret = secrets.token_hex(16)

        def work(transaction: Transaction) -> Token | None:
            now = transaction.now_micros
            taken = transaction.column(
                _LOCKS["take"], name=name, secret=secret, holder=holder, lease=span_micros(lease), now=now
            )
            if not taken:
                transaction.run(_LOCKS["shorten"], name=name, now=now)
                return None
            return Token(name=name, fence=taken[0], secret=secret)

        return await self._database.write(work)

    async def renew(self, token: Token, lease: timedelta) -> bool:
        """Extend the lease of whoever still has the lock."""

        def work(transaction: Transaction) -> bool:
            extended = {"lease": span_micros(lease), "now": transaction.now_micros}
            return bool(transaction.column(_LOCKS["renew"], name=token.name, secret=token.secret, **extended))

        return await self._database.write(work)

    async def release(self, token: Token) -> bool:
        """Free the lock of whoever still has it."""

        def work(transaction: Transaction) -> bool:
            return bool(transaction.column(_LOCKS["release"], name=token.name, secret=token.secret))

        return await self._database.write(work)
