"""Locks by name, in memory."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...ports.locks import Token
from .database import MemoryDatabase


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The last acquisition of a name; `expires_at` is None once it was released."""

    token: Token
    holder: str
    lease: timedelta
    expires_at: datetime | None


class MemoryLocks:
    """Leases by their name."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self._locks: dict[str, Lock] = {}

    async def acquire(self, name: str, *, holder: str, lease: timedelta) -> Token | None:
        """Take the lock if it is free or has lapsed."""
        now = self._database.now()
        last = self._locks.get(name)
        if last is not None and last.expires_at is not None and last.expires_at > now:
            self._locks[name] = replace(last, expires_at=min(last.expires_at, now + last.lease))
            return None
        fence = 1 if last is None else last.token.fence + 1
        token = Token(name=name, fence=fence, secret=secrets.token_hex(16))
        self._locks[name] = Lock(token=token, holder=holder, lease=lease, expires_at=now + lease)
        return token

    async def renew(self, token: Token, lease: timedelta) -> bool:
        """Extend the lease of whoever still has the lock."""
        lock = self._held_by(token)
        if lock is not None:
            self._locks[token.name] = replace(lock, lease=lease, expires_at=self._database.now() + lease)
        return lock is not None

    async def release(self, token: Token) -> bool:
        """Free the lock of whoever still has it."""
        lock = self._held_by(token)
        if lock is not None:
            self._locks[token.name] = replace(lock, expires_at=None)
        return lock is not None

    def _held_by(self, token: Token) -> Lock | None:
        lock = self._locks.get(token.name)
        return lock if lock is not None and lock.token == token and lock.expires_at is not None else None
