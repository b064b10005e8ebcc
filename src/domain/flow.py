"""
How often and when one event handler acts: limits per key, as pure decisions.

The words are those that Inngest and Hatchet gave the field: a rate limit drops what is beyond it, a throttle delays
it, a debounce waits until a key has been quiet, a batch gathers events of a key, a dedupe window drops repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A bucket of tokens: `limit` (1..100,000) at once, refilled evenly over `seconds` (1..86,400)."""

    limit: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Debounce:
    """
    Act once a key has been quiet for `seconds` (1..86,400), with the newest event.

    With `max_seconds` (`seconds`..604,800) no later than that after the first one, however busy the key is.
    """

    seconds: int
    max_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Act upon `size` (2..1,000) events of a key at once, or upon fewer `seconds` (1..86,400) after the first."""

    size: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowControl:
    """
    The limits of one event handler, each for itself and per `key`, a CEL expression over `event` (one key if None).

    They apply in this order: dedupe_seconds (1..2,592,000), rate_limit, then one of throttle, debounce and batch.
    """

    key: str | None = None
    dedupe_seconds: int | None = None
    rate_limit: Rate | None = None
    throttle: Rate | None = None
    debounce: Debounce | None = None
    batch: Batch | None = None

    @property
    def is_free(self) -> bool:
        """True if nothing limits it, so that a store need keep nothing about its keys."""
        limits = (self.dedupe_seconds, self.rate_limit, self.throttle, self.debounce, self.batch)
        return all(limit is None for limit in limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """
    Events that wait for one handler under one key until `due_at`.

    `id` is the id of the execution that it will be, where it will be one. `event_ids` are those that it will act
    upon, oldest first; `superseded` counts those that newer ones took the place of.
    """

    id: UUID
    event_ids: tuple[UUID, ...]
    first_at: datetime
    due_at: datetime
    superseded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowState:
    """
    What is remembered of one key of one handler.

    `seen_until` ends the dedupe window; `rate_limit_at` and `throttle_at` are the theoretical arrival times of these
    rates (GCRA, ITU-T I.371, annex A); `gathering` is the open one of a debounce or a batch.
    """

    seen_until: datetime | None = None
    rate_limit_at: datetime | None = None
    throttle_at: datetime | None = None
    gathering: Gathering | None = None
