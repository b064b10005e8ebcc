"""From the store to an executor: a pipe that may be lost whole without losing or doubling anything."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """One execution that is ready to be claimed: its id, and what routes it."""

    execution_id: UUID
    capability: str
    priority: int


class Dispatcher(Protocol):
    """
    Carries ids of admitted executions to executors that can run them, at least once.

    It never knows more than the store: whoever receives an id must still claim it there. It knows an id only
    together with the capability that it was dispatched for: with another one it is something else. It may drop what
    nobody can receive from it; that stays in the store, for a sweeper whose node can run it.
    """

    async def dispatch(self, batch: Sequence[Dispatch]) -> None:
        """Hand on a batch; called after the commit that recorded it. A dispatch handed on twice is harmless."""

    async def receive(self, *, capabilities: Collection[str], limit: int, wait: float) -> Sequence[Dispatch]:
        """
        Take up to `limit` ids that one of `capabilities` can run, highest priority first, oldest first within one.

        Waits up to `wait` seconds for the first, and answers an empty list when none came.
        """

    async def acknowledge(self, batch: Sequence[Dispatch]) -> None:
        """Say that the claims of a received batch are committed; what is never acknowledged may come again."""

    async def lost(self, candidates: Sequence[Dispatch]) -> Sequence[Dispatch]:
        """Tell which of these, dispatched a grace ago and still unclaimed, this pipe no longer carries."""
