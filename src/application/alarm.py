"""A call on the instant, where the timers of an event loop are a tick late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..ports.clock import Clock

LOOP_TICK_SECONDS: Final = 0.001
"""How exact the timers of an event loop are; libuv counts milliseconds."""

EXACT_EVERY_SECONDS: Final = 0.02
"""Between two instants that are met more exactly than that, at the cost of a tick's processor time each."""

NEVER: Final = float("inf")


@dataclass(slots=True, kw_only=True)
class Alarm:
    """
    Calls `ring` with the time once `instant` has come, in seconds of the clock's monotonic time.

    It is set to one instant, and then to none: whoever has several sets it to the soonest, and when it rings to the
    next. The last tick is spent on going round the loop, for few instants; the others are met within two ticks.
    """

    clock: Clock
    ring: Callable[[float], None]
    instant: float = field(default=NEVER, init=False)
    _awaited: float = field(default=NEVER, init=False)
    _exact_again_at: float = field(default=-NEVER, init=False)

    def at(self, instant: float) -> None:
        """Set it to an instant that is sooner than the one that it is set to."""
        self.instant = instant
        call_in(instant - self.clock.monotonic() - LOOP_TICK_SECONDS, partial(self._wake, instant))

    def _wake(self, instant: float) -> None:
        # Unless a sooner one came after it: that has seen to it that this one is not missed.
        if instant != self.instant:
            return
        now = self.clock.monotonic()
        if not now < instant <= now + 2 * LOOP_TICK_SECONDS:
            self.instant = NEVER
            self.ring(now)
        elif self._awaits_exactly(instant):
            asyncio.get_running_loop().call_soon(self._wake, instant)
        else:
            call_in(LOOP_TICK_SECONDS, partial(self._wake, instant))

    def _awaits_exactly(self, instant: float) -> bool:
        """Tell whether the rest of a tick may be spent on going round the loop, which is done for few instants."""
        # By the loop's own clock, as this node's may be one that stands still.
        now = asyncio.get_running_loop().time()
        if instant != self._awaited:
            if now < self._exact_again_at:
                return False
            self._awaited, self._exact_again_at = instant, now + EXACT_EVERY_SECONDS
        return now < self._exact_again_at


def call_in(seconds: float, step: Callable[[], None]) -> asyncio.TimerHandle:
    """Have the running loop call something in so many seconds, or at once if that is past."""
    return asyncio.get_running_loop().call_later(max(0.0, seconds), step)
