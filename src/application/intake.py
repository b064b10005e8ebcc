"""The intake: events that come in at the same time are stored together, and a bad one hinders no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Final

from ..domain.errors import Unavailable
from ..domain.event import Event
from ..ports.events import Triggered

BATCH: Final = 200
"""Events that one transaction takes at most: the locks of their jobs are held no longer than these take."""

Store = Callable[[Sequence[Event]], Awaitable[Sequence[Triggered]]]
"""Stores a batch, all or nothing, and answers in its order."""


@dataclass(slots=True)
class _Waiting:
    event: Event
    answer: asyncio.Future[Triggered]


@dataclass(slots=True)
class Intake:
    """
    Group commit: while one batch is being stored, what comes meanwhile waits to be the next one.

    A lone event is stored at once. A caller that gives up does not take its event back.
    """

    store: Store
    _waiting: list[_Waiting] = field(default_factory=list, init=False)
    _storing: asyncio.Task[None] | None = field(default=None, init=False)

    async def take(self, events: Sequence[Event]) -> Sequence[Triggered]:
        """
        Store events; answers once each of them is committed, or raises what the first that failed came to.

        Raises:
            Unavailable: the store did not answer; some may be stored, and their ids and keys tell which.
        """
        loop = asyncio.get_running_loop()
        entries = [_Waiting(event, loop.create_future()) for event in events]
        self._waiting += entries
        if self._storing is None:
            # Of no caller: whatever is said on the way is about all whose events are in the batch.
            self._storing = loop.create_task(self._store_all(), name="tocsin intake", context=Context())
        answers = await asyncio.gather(*(entry.answer for entry in entries), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if isinstance(answer, Triggered)]

    async def _store_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                await self._settle(batch)
        finally:
            self._storing = None
            # Only where this task was cancelled, as a handler of the same loop may do to every task.
            for entry in self._waiting:
                entry.answer.cancel()
            self._waiting.clear()

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        try:
            stored = await self.store([entry.event for entry in batch])
        except Unavailable as error:
            self._fail(batch, error)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one event, the others must not suffer
            if len(batch) == 1:
                self._fail(batch, error)
                return
            middle = len(batch) // 2
            await self._settle(batch[:middle])
            await self._settle(batch[middle:])
        except BaseException:
            for entry in batch:
                entry.answer.cancel()
            raise
        else:
            for entry, triggered in zip(batch, stored, strict=True):
                if not entry.answer.done():
                    entry.answer.set_result(triggered)

    @staticmethod
    def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
        for entry in batch:
            if not entry.answer.done():
                entry.answer.set_exception(error)
