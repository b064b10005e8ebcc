"""What has ended on this node and the ledger does not know yet: gathered as it comes, written in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ..domain.attempt import Attempt, Finish
from ..domain.execution import ExecutionStatus
from ..ports.dispatcher import Dispatch, Dispatcher
from ..ports.ledger import Finished, Hold, Ledger
from ..ports.telemetry import Metric, Telemetry
from .bell import Bell
from .figures import measure_ends
from .handing_on import hand_on
from .held_attempt import HeldAttempt
from .journal import Journal

FINISH_BATCH: Final = 500

End: TypeAlias = tuple[Finish, HeldAttempt]

_FAILURES: Final = frozenset({ExecutionStatus.FAILED, ExecutionStatus.TIMEOUT})


@dataclass(slots=True, kw_only=True)
class Ends:
    """
    Ends to write and slots to free; what a failing store does not take is kept, in order.

    Any task may add and flush; `bell` rings when there is something new to write, `written` when something was,
    and `retrying` when what was written waits for another attempt. `ended` counts the ends of handlers that
    were written.
    Until then their leases must be renewed: nobody else may take what has ended for lost.
    """

    ledger: Ledger
    dispatcher: Dispatcher
    telemetry: Telemetry
    journal: Journal
    bell: Bell
    written: Bell
    retrying: Bell
    ended: int = field(default=0, init=False)
    _finishes: list[End] = field(default_factory=list, init=False)
    _gone: list[HeldAttempt] = field(default_factory=list, init=False)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def unwritten(self) -> int:
        """How many ends and freed slots the ledger does not know yet."""
        return len(self._finishes) + len(self._gone)

    @property
    def held(self) -> Iterator[HeldAttempt]:
        """The attempts that they belong to; one may come twice."""
        yield from (held for _, held in self._finishes)
        yield from self._gone

    def add(self, finish: Finish, held: HeldAttempt) -> None:
        """Take an end to write."""
        self._finishes.append((finish, held))
        self.bell.ring()

    def free(self, held: HeldAttempt) -> None:
        """Take a slot to free: the handler of an attempt that ended before is really gone."""
        self._gone.append(held)
        self.bell.ring()

    async def flush(self) -> None:
        """
        Write what has ended by now: logs, then ends, then freed slots.

        Logs go first, so that whoever sees an execution ended sees all that it said; so what ends while they
        are being written waits for the next flush.
        """
        async with self._writing:
            ended, gone = len(self._finishes), len(self._gone)
            await self.journal.flush(self.ledger)
            while ended > 0:
                ended -= await self._write(self._finishes[: min(ended, FINISH_BATCH)])
            if gone:
                dispatches = await self.ledger.release([held.hold for held in self._gone[:gone]])
                del self._gone[:gone]
                self.written.ring()
                await self.hand_on(dispatches)

    async def _write(self, batch: Sequence[End]) -> int:
        written = await self.ledger.finish([finish for finish, _ in batch])
        del self._finishes[: len(batch)]
        others = [(finish, held) for finish, held in batch if finish.status is not ExecutionStatus.SUCCESS]
        # What is handed back has not ended: to claim as many again would have it handed back again.
        self.ended += len(batch) - sum(finish.is_handed_back for finish, _ in others)
        self.written.ring()
        if any(not finish.status.terminal for finish, _ in others):
            self.retrying.ring()
        self._tell(written)
        self._tell_failures([(finish, held.attempt) for finish, held in others if finish.status in _FAILURES])
        kept = self._without_rejected(batch, frozenset(written.rejected)) if written.rejected else batch
        measure_ends(self.telemetry, ((finish, held.attempt) for finish, held in kept))
        await self.hand_on(written.dispatches)
        return len(batch)

    def _without_rejected(self, batch: Sequence[End], rejected: Collection[Hold]) -> Sequence[End]:
        for _, held in batch:
            # What was cancelled before its end was written still holds its slot, and nobody else knows it gone.
            if held.hold in rejected and held.is_gone:
                self.free(held)
        return [end for end in batch if end[1].hold not in rejected]

    def _tell(self, written: Finished) -> None:
        for execution_id, attempt in written.rejected:
            self.telemetry.warning("execution.lease_lost", execution_id=str(execution_id), attempt=attempt)
        if written.rejected:
            self.telemetry.add(Metric.LEASE_LOSSES, len(written.rejected), seen="at_end")
        for execution_id, attempt in written.set_aside:
            self.telemetry.error("execution.set_aside", execution_id=str(execution_id), attempt=attempt)

    def _tell_failures(self, failures: Sequence[tuple[Finish, Attempt]]) -> None:
        """Say in one line a batch what ended badly: a node whose every handler fails must not drown in lines."""
        if failures:
            newest, attempt = failures[-1]
            self.telemetry.warning(
                "execution.failed",
                executions=len(failures),
                newest=str(newest.execution_id),
                job_id=str(attempt.job_id),
                tenant_id=attempt.tenant_id,
                trace_id=attempt.trace_id,
                status=newest.status.value,
                error_type=newest.error_type,
            )

    async def hand_on(self, dispatches: Sequence[Dispatch]) -> None:
        """Give work to the pipe, broken or not (`hand_on`)."""
        await hand_on(dispatches, to=self.dispatcher, telemetry=self.telemetry)
