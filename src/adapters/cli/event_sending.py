"""Sending a file of events: in batches of one request each, past what is refused, and what it came to in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...domain.errors import FieldError, InvalidInput
from ...ports.event_requests import EventOutcome
from ...ports.scheduler import IScheduler
from .event_lines import EventLine

BATCH: Final = 500
BATCH_BYTES: Final = 256 * 1024
"""Of its lines: well below what one request carries, so that a batch is taken as a whole or not at all."""

REFUSALS_KEPT: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A line that was not taken, and why."""

    line: int
    errors: Sequence[FieldError]


@dataclass(slots=True, kw_only=True)
class Sum:
    """
    What became of a file: events `sent`, those of them that a handler acted upon, and those sent before.

    `refusals` are the first of the `refused` lines; everything up to `line` has been dealt with.
    """

    sent: int = 0
    matched: int = 0
    duplicates: int = 0
    refused: int = 0
    line: int = 0
    refusals: list[Refusal] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Sends lines through a scheduler; `refuse` hears of each refusal, `progress` of the sum after each request."""

    scheduler: IScheduler
    total: Sum
    refuse: Callable[[Refusal], None]
    progress: Callable[[Sum], None]

    async def send(self, lines: Iterable[EventLine | None]) -> None:
        """
        Send them, in their order; a None among them has what came before it sent.

        Raises:
            Unavailable: nobody answered; `total` says up to which line all is done.
        """
        for batch in _batches(lines):
            if not batch:
                # Reading waits without the loop, which must have a turn to hear of Ctrl-C.
                await asyncio.sleep(0)
                continue
            await self._send(batch)

    async def _send(self, batch: Sequence[EventLine]) -> None:
        """Deal with a batch; where one of it is refused by the server, with each line by itself."""
        events = [each.event for each in batch if each.event is not None]
        try:
            self._count(await self.scheduler.trigger_events(events) if events else ())
        except InvalidInput as error:
            if len(batch) > 1:
                for each in batch:
                    await self._send([each])
                return
            self._refuse(batch[0].line, error.errors)
        for each in batch:
            if each.event is None:
                self._refuse(each.line, each.errors)
        self.total.line = batch[-1].line
        self.progress(self.total)

    def _count(self, outcomes: Sequence[EventOutcome]) -> None:
        self.total.sent += len(outcomes)
        self.total.duplicates += sum(each.is_duplicate for each in outcomes)
        self.total.matched += sum(each.matched > 0 and not each.is_duplicate for each in outcomes)

    def _refuse(self, line: int, errors: Sequence[FieldError]) -> None:
        refusal = Refusal(line=line, errors=errors)
        self.total.refused += 1
        if len(self.total.refusals) < REFUSALS_KEPT:
            self.total.refusals.append(refusal)
        self.refuse(refusal)


def _batches(lines: Iterable[EventLine | None]) -> Iterator[Sequence[EventLine]]:
    """Gather lines, fewer of them where no more come for now; possibly none."""
    batch: list[EventLine] = []
    size = 0
    for each in lines:
        if each is None or len(batch) == BATCH or (batch and size + each.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        if each is not None:
            batch.append(each)
            size += each.size
    if batch:
        yield batch
