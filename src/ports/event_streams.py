"""Streams that carry events between Tocsin and everybody else: what others put in, and Tocsin's own that go out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..domain.event import Event, NewEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """
    One entry of the stream: `event` with the tenant it names, or why it is none (`malformed`).

    `id` is the entry's own, by which it is acknowledged; `deliveries` counts how often it was handed out, this time
    included. An event without an id of its own has the entry's as its idempotency key, so that it happens once.
    """

    id: str
    deliveries: int
    tenant_id: str
    event: NewEvent | None = None
    malformed: str | None = None


class EventIntake(Protocol):
    """
    The stream that any service may add events to, read by one group of all nodes, each entry by one of them.

    Raises (every method):
        DispatcherUnavailable: no answer within the pipe's deadline; what was asked for may have been done.
    """

    async def receive(self, *, limit: int, wait: float) -> Sequence[Arrival]:
        """Take up to `limit` entries, those first that a lost node left behind; waits up to `wait` seconds for one."""

    async def acknowledge(self, arrivals: Sequence[Arrival]) -> None:
        """Say that these have been dealt with for good."""

    async def set_aside(self, arrivals: Sequence[Arrival], reasons: Sequence[str]) -> None:
        """Move entries to where a person may look at the newest of them, each with its reason, and acknowledge them."""


class EventExport(Protocol):
    """The stream on which Tocsin tells others what it lets out (`ports.events.Outbox`), at least once, in order."""

    async def publish(self, events: Sequence[Event]) -> None:
        """
        Add events; their ids tell repetitions apart.

        Raises:
            DispatcherUnavailable: no answer within the pipe's deadline; some may have been added.
        """
