"""Dispatch within one process: a queue for each capability, and who was handed what."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta
from itertools import count
from typing import Final, TypeAlias
from uuid import UUID

from ...ports.dispatcher import Dispatch, Sent

_REDELIVERY: Final = timedelta(seconds=10)

_Key: TypeAlias = tuple[UUID, str]
"""What is carried at most once: an id that its job has moved to another capability is another thing to carry."""

_Entry: TypeAlias = tuple[int, int, Dispatch]
"""Sorts by falling priority, then by arrival; the arrival number is never shared, so no dispatch is compared."""


class InProcessDispatcher:
    """
    Carries ids between the loops of one process; it holds each once for a capability, however often handed on.

    What none of `capabilities` can run when it is handed on is dropped: nobody here would ever receive it. Without
    `capabilities` nothing is. What was received and not acknowledged for `redeliver_after` comes again: its
    receiver died. Not safe from other threads.
    """

    is_shared = False

    def __init__(
        self,
        *,
        capabilities: Callable[[], Collection[str]] | None = None,
        redeliver_after: timedelta = _REDELIVERY,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capabilities = capabilities
        self._redeliver_after = redeliver_after.total_seconds()
        self._monotonic = monotonic
        self._arrivals = count()
        self._queues: dict[str, list[_Entry]] = {}
        self._queued: set[_Key] = set()
        self._delivered: OrderedDict[_Key, tuple[float, Dispatch]] = OrderedDict()
        self._bell = asyncio.Event()

    async def dispatch(self, batch: Sequence[Dispatch]) -> None:
        """Queue what can be run here and is not queued yet, and wake whoever waits."""
        if self._capabilities is None:
            self._enqueue(batch)
        else:
            runnable = self._capabilities()
            self._enqueue([dispatch for dispatch in batch if dispatch.capability in runnable])

    async def receive(self, *, capabilities: Collection[str], limit: int, wait: float) -> Sequence[Dispatch]:
        """Take the most urgent ids that one of `capabilities` can run, waiting for the first up to `wait` seconds."""
        try:
            async with asyncio.timeout(wait):
                while not (taken := self._take(frozenset(capabilities), limit)):
                    await self._bell.wait()
        except TimeoutError:
            return []
        return taken

    async def acknowledge(self, batch: Sequence[Dispatch]) -> None:
        """Forget what was delivered: its claims are committed."""
        for dispatch in batch:
            self._delivered.pop(_key(dispatch), None)

    async def lost(self, candidates: Sequence[Sent]) -> Sequence[Dispatch]:
        """Tell which of these are neither queued nor in the hands of a receiver."""
        return [
            candidate
            for candidate, _ in candidates
            if _key(candidate) not in self._queued and _key(candidate) not in self._delivered
        ]

    def _enqueue(self, batch: Sequence[Dispatch]) -> None:
        for dispatch in batch:
            if _key(dispatch) in self._queued:
                continue
            self._queued.add(_key(dispatch))
            queue = self._queues.setdefault(dispatch.capability, [])
            heapq.heappush(queue, (-dispatch.priority, next(self._arrivals), dispatch))
        # A fresh bell for those who come later, so that one ring wakes each waiter exactly once.
        self._bell.set()
        self._bell = asyncio.Event()

    def _take(self, capabilities: frozenset[str], limit: int) -> list[Dispatch]:
        self._reclaim()
        queues = [queue for name in capabilities if (queue := self._queues.get(name))]
        return [self._hand_over(dispatch) for dispatch in _most_urgent(queues, limit)]

    def _hand_over(self, dispatch: Dispatch) -> Dispatch:
        self._queued.discard(_key(dispatch))
        self._delivered[_key(dispatch)] = (self._monotonic(), dispatch)
        self._delivered.move_to_end(_key(dispatch))
        return dispatch

    def _reclaim(self) -> None:
        """Queue again what receivers have held for too long, oldest first."""
        overdue = self._monotonic() - self._redeliver_after
        abandoned = []
        while self._delivered and next(iter(self._delivered.values()))[0] <= overdue:
            abandoned.append(self._delivered.popitem(last=False)[1][1])
        if abandoned:
            self._enqueue(abandoned)


def _key(dispatch: Dispatch) -> _Key:
    return dispatch.execution_id, dispatch.capability


def _most_urgent(queues: Sequence[list[_Entry]], limit: int) -> Iterator[Dispatch]:
    for _ in range(limit):
        filled = [queue for queue in queues if queue]
        if not filled:
            return
        yield heapq.heappop(min(filled))[2]
