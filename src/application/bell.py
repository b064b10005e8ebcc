"""A bell wakes a loop early; a lost ring costs only time, because every loop also wakes by itself."""

from __future__ import annotations

import asyncio


class Bell:
    """Rings for one waiting loop of this process. A ring while nobody waits is kept for the next wait."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake the loop, now or when it next waits. Only from the event loop's thread."""
        self._rung.set()

    async def wait(self, seconds: float | None) -> bool:
        """Wait for a ring, `seconds` at most; answers whether it rang."""
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True
