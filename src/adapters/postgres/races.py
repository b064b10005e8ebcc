"""Transactions that are run again where another one came first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeVar
from uuid import UUID

import asyncpg

from ...domain.errors import StoreUnavailable
from .accounts import UnlockedJobs
from .database import CONTENTION

T = TypeVar("T")

_TRIES: Final = 5
_RACED: Final = frozenset(
    {"jobs_key", "executions_idempotency", "events_pkey", "events_idempotency", "event_handlers_key"}
)
"""The unique indexes that decide where two transactions at once want one key."""


class NewerFlows(Exception):
    """Somebody came with a key of flow control after those of its handler were locked, and would be waited for."""


async def again_if_raced(run: Callable[[], Awaitable[T]]) -> T:
    """
    Run a transaction; where another one took a key at the same time, again, so that what has it is found.

    Raises:
        StoreUnavailable: others came first again and again.
    """
    for _ in range(_TRIES):
        try:
            return await run()
        except NewerFlows:
            continue
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name not in _RACED:
                raise
    raise StoreUnavailable(CONTENTION)


async def with_jobs_locked(run: Callable[[Collection[UUID]], Awaitable[T]]) -> T:
    """Run a transaction, again with rows of jobs locked first where it turns out that they must be."""
    locked: frozenset[UUID] = frozenset()
    while True:
        try:
            return await run(locked)
        except UnlockedJobs as unlocked:
            locked = locked.union(unlocked.job_ids)
