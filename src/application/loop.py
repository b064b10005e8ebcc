"""What keeps an agent going: run once, wait for its bell or the next due time, survive a failing store."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass, field
from typing import Final, Protocol

from ..domain.errors import TocsinError, Unavailable
from ..domain.outage import Outage
from ..ports.clock import Clock
from ..ports.telemetry import Telemetry
from .bell import Bell

FIRST_BACKOFF: Final = 0.1
LONGEST_BACKOFF: Final = 5.0


class Agent(Protocol):
    """Something that does one round of work when asked."""

    async def run_once(self) -> float | None:
        """Do one round; answer in how many seconds the next is known to be due, None if nothing is."""


@dataclass(slots=True)
class Pulse:
    """
    When a loop last completed a round, by the monotonic clock, and why the latest one failed, if it did.

    One that is `resting` was told to stop, and completes none until it is begun again. `cap` is how many seconds it may
    wait between two rounds.
    """

    name: str
    beat_at: float
    error: str | None = None
    resting: bool = False
    cap: float = 0.0


@dataclass(slots=True, kw_only=True)
class Loop:
    """
    Runs an agent until stopped; begun again, it may be run again.

    Between rounds it waits for its bell, or until the next due time, `cap` seconds at most: bells may be
    lost. A failed round is repeated with back-off and never ends the loop.
    """

    name: str
    agent: Agent
    clock: Clock
    telemetry: Telemetry
    cap: float
    bell: Bell = field(default_factory=Bell)
    pulse: Pulse = field(init=False)
    _outage: Outage = field(init=False, default_factory=Outage)

    def __post_init__(self) -> None:
        """Start with a pulse, so that a loop that never completes a round is seen to age."""
        self.pulse = Pulse(self.name, self.clock.monotonic(), cap=self.cap)

    async def run(self) -> None:
        """Go round until `stop`."""
        backoff = FIRST_BACKOFF
        while not self.pulse.resting:
            wait = await self._round()
            if wait is None:
                await self.bell.wait(backoff)
                backoff = min(backoff * 2, LONGEST_BACKOFF)
                continue
            backoff = FIRST_BACKOFF
            if wait > 0:
                await self.bell.wait(wait)
            else:
                # A store in memory never yields, and a busy loop must not starve the others.
                await asyncio.sleep(0)

    def stop(self) -> None:
        """End after the round under way."""
        self.pulse.resting = True
        self.bell.ring()

    def begin(self) -> None:
        """Make ready for a `run` after a stop; only once the last one has ended."""
        self.pulse.resting, self.pulse.error, self.pulse.beat_at = False, None, self.clock.monotonic()

    async def _round(self) -> float | None:
        """Answer how long to wait, or None after a failure."""
        try:
            due = await self.agent.run_once()
        except Exception as error:  # noqa: BLE001 - a loop that a surprise can end would lose fires in silence
            self.pulse.error = _reason(error)
            self._tell(error)
            return None
        self.pulse.beat_at, self.pulse.error = self.clock.monotonic(), None
        rounds = self._outage.failures
        if (seconds := self._outage.end(self.pulse.beat_at)) is not None:
            self.telemetry.info("loop.recovered", loop=self.name, failed_rounds=rounds, seconds=seconds)
        return self.cap if due is None else min(max(due, 0.0), self.cap)

    def _tell(self, error: Exception) -> None:
        now = self.clock.monotonic()
        if not self._outage.fail(_kind(error), now):
            return
        # Where a server is awaited says nothing; where a surprise came from says most.
        trace = {} if isinstance(error, Unavailable) else {"exc_info": error}
        self.telemetry.error(
            "loop.failed",
            loop=self.name,
            error=f"{type(error).__name__}: {error}",
            failed_rounds=self._outage.failures,
            seconds=self._outage.lasted(now),
            **trace,
        )


def _kind(error: Exception) -> str:
    """Tell failures apart by what a person would do about them: by the place, but for servers that are away."""
    name = type(error).__name__
    if isinstance(error, Unavailable):
        return name
    places = [f"{frame.f_code.co_filename}:{line}" for frame, line in traceback.walk_tb(error.__traceback__)]
    return " ".join([name, *places[-1:]])


def _reason(error: Exception) -> str:
    """Say what callers may read: a driver's words, which even our own errors repeat, are only for the log."""
    kind = error.code if isinstance(error, TocsinError) else f"unexpected {type(error).__name__}"
    return f"{kind}; the log says more"
