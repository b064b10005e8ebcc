"""The impact snapshot: the frozen answer to what an event touched, and why it left the rest alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

from .json import encoded


class Touch(StrEnum):
    """
    What an event handler made of an event whose name matched.

    It `acted`; it `held` the event, to act later; its filter was false (`filtered`) or its flow control left the
    event out (`limited`); or it could not act (`refused`), and the reason says why.
    """

    ACTED = "acted"
    HELD = "held"
    FILTERED = "filtered"
    LIMITED = "limited"
    REFUSED = "refused"

    @property
    def is_match(self) -> bool:
        """Whether the handler does something about the event, now or later."""
        return self in {Touch.ACTED, Touch.HELD}


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerImpact:
    """
    What one event handler, at one version, made of one event.

    Of a held event `execution_ids` names the execution that will be. `job_ids` are jobs created or cancelled,
    `event_ids` events published. `replayed_at` is when a handler that was registered later was shown the event.
    """

    handler_id: UUID
    handler_version: int
    touch: Touch
    action: str
    reason: str | None = None
    execution_ids: tuple[UUID, ...] = ()
    job_ids: tuple[UUID, ...] = ()
    event_ids: tuple[UUID, ...] = ()
    replayed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """
    What an event touched: the handlers whose name matched, in the order in which they acted.

    `others` counts the handlers that were asked and whose name did not match; `stopped` says why no handler was
    asked at all, as at the end of a chain that is too long.
    """

    handlers: tuple[HandlerImpact, ...] = ()
    others: int = 0
    stopped: str | None = None

    @property
    def matched(self) -> int:
        """How many handlers acted, or hold the event."""
        return sum(each.touch.is_match for each in self.handlers)

    @property
    def execution_ids(self) -> Sequence[UUID]:
        """Every execution that came, or will come, of the event, in the order in which the handlers acted."""
        return [id_ for each in self.handlers for id_ in each.execution_ids]

    @property
    def hash(self) -> str:
        """A SHA-256 in hexadecimal over which handlers, at which versions, were touched how: equal if these are."""
        told = [[str(each.handler_id), each.handler_version, each.touch.value] for each in self.handlers]
        return sha256(encoded([*told, self.others, self.stopped]).encode()).hexdigest()

    def told_again(self, told: HandlerImpact) -> Impact:
        """Give the snapshot with what one handler made of the event later on, in the place of what it said before."""
        kept = tuple(told if each.handler_id == told.handler_id else each for each in self.handlers)
        known = any(each.handler_id == told.handler_id for each in self.handlers)
        return replace(self, handlers=kept if known else (*kept, told))
