"""Bells that a whole fleet hears: a ring hastens whoever waits for it, and nothing depends on its coming."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

DISPATCH: Final = "dispatch"
"""Something was handed on: receivers look."""

TIMER: Final = "timer"
"""A job's next_run moved to an earlier time."""

HEARTBEAT: Final = "heartbeat"
"""An execution was cancelled: whoever runs it looks after its leases."""

REGISTRATION: Final = "registration"
"""A node was asked to drain, or to take work again."""


GATHERER: Final = "gatherer"
"""Events are held for an event handler: whoever acts upon them looks when they are due."""

RELAY: Final = "relay"
"""Something went into the outbox."""


class Bells(Protocol):
    """
    Named bells that every node of the fleet hears, the one that rings included.

    A ring carries nothing but the name of its bell, and may be lost or come twice: so every listener also wakes by
    itself. `listening` tells whether the rings of other nodes are heard at present, as always where there are none;
    while they are not, look more often. Called from the event loop's thread only.
    """

    listening: bool

    def ring(self, name: str) -> None:
        """
        Wake the listeners of this node before it returns, those of other nodes soon after.

        Cheap, and never raises: call it for every change, after its commit. Rings of one bell that come within
        some 25 ms reach the other nodes as one.
        """

    def listen(self, name: str, callback: Callable[[], None]) -> None:
        """
        Call back at each ring of a bell, from now on, and once for all that was missed while nothing was heard.

        The callback is cheap and never raises.
        """
