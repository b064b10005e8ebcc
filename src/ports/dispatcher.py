"""From the store to an executor: a pipe that may be lost whole without losing or doubling anything."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias
from uuid import UUID


class Dispatch(NamedTuple):
    """One execution that is ready to be claimed: its id, and what routes it."""

    execution_id: UUID
    capability: str
    priority: int


Sent: TypeAlias = tuple[Dispatch, datetime]
"""A dispatch, and when it was handed on by the store's clock."""


class Dispatcher(Protocol):
    """
    Carries ids of admitted executions to executors that can run them, at least once.

    It never knows more than the store: whoever receives an id must still claim it there. It knows an id only
    together with the capability that it was dispatched for: with another one it is something else. It may drop what
    nobody can receive from it; that stays in the store, for a sweeper whose node can run it.

    `is_shared` tells whether other nodes receive from it as well, so that any node may repeat any dispatch.

    Raises (every method):
        DispatcherUnavailable: no answer within the pipe's deadline; what was asked for may have been done.
    """

    is_shared: bool

    async def dispatch(self, batch: Sequence[Dispatch]) -> None:
        """Hand on a batch; called after the commit that recorded it. A dispatch handed on twice is harmless."""

    async def receive(self, *, capabilities: Collection[str], limit: int, wait: float) -> Sequence[Dispatch]:
        """
        Take up to `limit` ids that one of `capabilities` can run.

        In one answer more urgent bands come first, and of equal capability and priority the oldest; a pipe that
        serves many may leave less urgent bands a share of it. Waits up to `wait` seconds for the first, and answers
        an empty list when none came.
        """

    async def acknowledge(self, batch: Sequence[Dispatch]) -> None:
        """Say that the claims of a received batch are committed; what is never acknowledged may come again."""

    async def lost(self, candidates: Sequence[Sent]) -> Sequence[Dispatch]:
        """
        Tell which of these, dispatched a grace ago and still unclaimed, this pipe no longer carries.

        What it cannot tell yet, because much waits before it, it leaves out until all that has been received.
        """
