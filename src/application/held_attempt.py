"""An attempt that this node holds: its handler's task, its lease by the monotonic clock, and why it should stop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from threading import Event, Lock
from typing import ClassVar, Final

from ..domain.attempt import Attempt, Finish
from ..ports.ledger import Hold

HEARTBEAT_SECONDS: Final = 10.0
HEARTBEATS_PER_LEASE: Final = 3


class Disposition(Enum):
    """What became of an attempt on this node, decided once; the first decision stands."""

    RUNNING = "running"
    ENDED = "ended"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    FENCED = "fenced"
    HANDED_BACK = "handed_back"


class CancellationFlag:
    """The handler's view of its cancellation (`ports.handlers.Cancellation`), which few handlers ever look at."""

    __slots__ = ("_event", "requested")

    _making: ClassVar = Lock()

    def __init__(self) -> None:
        self.requested = False
        self._event: Event | None = None

    def wait(self, seconds: float) -> bool:
        """Block a thread until the attempt should end, `seconds` at most."""
        with self._making:
            event = self._event = self._event or Event()
        # Asked for only now: a request that came before there was an event to set has left its mark here.
        return self.requested or event.wait(seconds)

    def request(self) -> None:
        """Ask the handler to end."""
        self.requested = True
        if self._event is not None:
            self._event.set()


@dataclass(slots=True, kw_only=True, eq=False)
class HeldAttempt:
    """
    One attempt from its claim until its handler is gone and the ledger knows.

    All times are monotonic seconds. `begins_at` is when its handler may begin, `started` when it did. `lease_until` is
    counted from `renewed_at`, when the claim or the renewal was sent, so that this node knows its lease to be gone no
    later than anybody else does. `deferred` is an end that is not written while the handler is there.
    """

    attempt: Attempt
    hold: Hold
    begins_at: float
    started: float
    renewed_at: float
    task: asyncio.Task[object] | None = None
    deadline: asyncio.TimerHandle | None = None
    cancellation: CancellationFlag = field(default_factory=CancellationFlag)
    disposition: Disposition = Disposition.RUNNING
    decided_at: float | None = None
    deferred: Finish | None = None

    @property
    def is_gone(self) -> bool:
        """True once nothing of the handler is left."""
        return self.task is None or self.task.done()

    @property
    def lease(self) -> timedelta:
        """How long a renewal holds: what the claim said, however the job was changed since."""
        return timedelta(seconds=self.attempt.definition.lock_timeout_seconds)

    @property
    def lease_until(self) -> float:
        """When the lease is gone unless renewed."""
        return self.renewed_at + self.attempt.definition.lock_timeout_seconds

    @property
    def times_out_at(self) -> float:
        """When the handler has had its time."""
        return self.started + self.attempt.definition.timeout_ms / 1000

    @property
    def deferred_until(self) -> float | None:
        """When a deferred end is written at the latest: a lease after it was decided."""
        if self.deferred is None or self.decided_at is None:
            return None
        return self.decided_at + self.attempt.definition.lock_timeout_seconds

    @property
    def renewal_due(self) -> float:
        """When the lease should be renewed: each 10 s, or a third of the lease if sooner."""
        return self.renewed_at + min(
            HEARTBEAT_SECONDS, self.attempt.definition.lock_timeout_seconds / HEARTBEATS_PER_LEASE
        )

    def end(self, disposition: Disposition, now: float) -> bool:
        """Decide at `now` what becomes of the attempt; False if it was decided before."""
        if self.disposition is not Disposition.RUNNING:
            return False
        self.disposition, self.decided_at = disposition, now
        if self.deadline is not None:
            self.deadline.cancel()
        if disposition is not Disposition.ENDED:
            self.cancellation.request()
            if self.task is not None:
                self.task.cancel()
        return True
