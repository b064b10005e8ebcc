"""Waiting for what another process does: a condition and a deadline, never a pause for luck."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

DEADLINE_SECONDS: Final = 60.0
"""Far beyond what a loaded machine needs: to reach it is a failure, whatever the machine."""

T = TypeVar("T")


async def eventually(
    look: Callable[[], Awaitable[T | None]], *, every: float = 0.05, seconds: float = DEADLINE_SECONDS
) -> T:
    """Look again and again until there is something to see, and answer that."""
    async with asyncio.timeout(seconds):
        while (seen := await look()) is None:  # noqa: ASYNC110 - another process rings no bell here
            await asyncio.sleep(every)
    return seen


async def until(condition: Callable[[], Awaitable[bool]], *, every: float = 0.05) -> None:
    """Wait until the condition holds."""

    async def look() -> bool | None:
        return await condition() or None

    await eventually(look, every=every)
