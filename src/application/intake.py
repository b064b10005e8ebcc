"""The intake: events that come in at the same time are stored together, and a bad one hinders no other caller's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Final

from ..domain.errors import Unavailable
from ..ports.events import Triggered
from .resolver import Resolution

BATCH: Final = 200
"""Events that one transaction takes at most: the locks of their jobs are held no longer than these take."""

Store = Callable[[Sequence[Resolution]], Awaitable[Sequence[Triggered]]]
"""Stores a batch, all or nothing, and answers in its order."""


@dataclass(slots=True)
class _Call:
    """What one caller handed in at once."""

    events: Sequence[Resolution]
    answer: asyncio.Future[Sequence[Triggered]]


@dataclass(slots=True)
class Intake:
    """
    Group commit: while one batch is being stored, what comes meanwhile waits to be the next one.

    A lone call is stored at once. A caller that gives up does not take its events back.
    """

    store: Store
    _waiting: list[_Call] = field(default_factory=list, init=False)
    _batch: Sequence[_Call] = field(default=(), init=False)
    _storing: asyncio.Task[None] | None = field(default=None, init=False)

    async def take(self, events: Sequence[Resolution]) -> Sequence[Triggered]:
        """
        Store up to `BATCH` events together, all or nothing; answers once they are committed.

        Raises:
            Unavailable: the store did not answer; they may be stored, and their ids and keys tell.
            Exception: whatever the store has against one of them; none of them is stored.
        """
        loop = asyncio.get_running_loop()
        call = _Call(events, loop.create_future())
        self._waiting.append(call)
        if self._storing is None or self._storing.done():
            # Of no caller: whatever is said on the way is about all whose events are in the batch.
            self._storing = loop.create_task(self._store_all(), name="tocsin intake", context=Context())
            self._storing.add_done_callback(self._ended)
        return await call.answer

    async def _store_all(self) -> None:
        while self._waiting:
            self._batch = self._next()
            await self._settle(self._batch)

    def _next(self) -> Sequence[_Call]:
        """Take the calls that come first, and have no more events together than a batch."""
        count, room = 1, BATCH - len(self._waiting[0].events)
        for call in self._waiting[1:]:
            room -= len(call.events)
            if room < 0:
                break
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    async def _settle(self, batch: Sequence[_Call]) -> None:
        try:
            stored = iter(await self.store([event for call in batch for event in call.events]))
        except Unavailable as error:
            _fail(batch, error)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one call, the others must not suffer
            if len(batch) == 1:
                _fail(batch, error)
                return
            middle = len(batch) // 2
            await self._settle(batch[:middle])
            await self._settle(batch[middle:])
        else:
            for call in batch:
                triggered = [next(stored) for _ in call.events]
                if not call.answer.done():
                    call.answer.set_result(triggered)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Have nobody wait for a task that was cancelled, as a handler of the same loop may do to every task."""
        if task.cancelled() or task.exception() is not None:
            for call in (*self._batch, *self._waiting):
                call.answer.cancel()
            self._waiting.clear()


def _fail(batch: Sequence[_Call], error: Exception) -> None:
    for call in batch:
        if not call.answer.done():
            call.answer.set_exception(error)
