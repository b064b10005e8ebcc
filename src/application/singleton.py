"""A singleton: of all nodes that run an agent, the one that holds its lock does its rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from ..ports.clock import Clock
from ..ports.locks import Locks, Token
from .loop import Agent

RENEWALS_PER_LEASE: Final = 3


@dataclass(slots=True, kw_only=True)
class Singleton:
    """
    Runs an agent's rounds while this node holds the lock `name`, and skips them while another does.

    The lease is renewed before a round once a third of it is over, so `lease` must be a few times as long as the loop's
    cap. A node that lost the lock, because it was paused or cut off, skips at least one round. Two rounds overlap only
    where one takes longer than two thirds of the lease; so an agent must be safe, if wasteful, on many nodes at once.
    `lost` is called when the lock is no longer this node's, so that what the rounds came to is told by
    one node only.
    """

    agent: Agent
    locks: Locks
    clock: Clock
    name: str
    holder: str
    lease: timedelta
    lost: Callable[[], None] = lambda: None
    _token: Token | None = field(default=None, init=False)
    _renewed_at: float = field(default=0.0, init=False)

    async def run_once(self) -> float | None:
        """Do one round if the lock is this node's; answer when the next is due, None if another node does them."""
        if not await self._holds():
            return None
        return await self.agent.run_once()

    async def hand_over(self) -> None:
        """
        Give the lock up, so that the next node that asks need not wait for it to lapse; only between rounds.

        Raises:
            StoreUnavailable: the store did not answer; the lock lapses.
        """
        if self._token is not None:
            token, self._token = self._token, None
            self.lost()
            await self.locks.release(token)

    async def _holds(self) -> bool:
        now = self.clock.monotonic()
        if self._token is None:
            self._token = await self.locks.acquire(self.name, holder=self.holder, lease=self.lease)
        elif now - self._renewed_at < self.lease.total_seconds() / RENEWALS_PER_LEASE:
            return True
        elif not await self.locks.renew(self._token, self.lease):
            self._token = None
            self.lost()
        # From when it was asked for: nobody may take the lock for longer than the store does.
        self._renewed_at = now
        return self._token is not None
