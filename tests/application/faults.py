"""Real parts that fail on demand: what a network, a full disk or a crash does to a ledger and to a pipe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from tocsin.adapters.memory import InProcessDispatcher
from tocsin.domain.attempt import Attempt, Finish
from tocsin.domain.errors import StoreUnavailable
from tocsin.ports.dispatcher import Dispatch
from tocsin.ports.ledger import (
    NOT_AHEAD,
    Finished,
    Fired,
    Hold,
    Lapse,
    Lease,
    Ledger,
    LogLine,
    Planner,
    Progress,
    Purged,
    Ready,
    RecentLedgers,
)

T = TypeVar("T")


class FaultyLedger:
    """
    A ledger over another one.

    Calls named in `down` do nothing and fail; those in `deaf` are committed, but their answer is lost. `calls` counts
    what arrived, by name. `during` runs inside a call of that name, before it reaches the ledger. No ledger of a job in
    `damaged` can be read.
    """

    def __init__(self, inner: Ledger) -> None:
        self._inner = inner
        self.down: set[str] = set()
        self.deaf: set[str] = set()
        self.damaged: set[UUID] = set()
        self.calls: dict[str, int] = {}
        self.during: dict[str, Callable[[], Awaitable[object]]] = {}

    def everything_down(self) -> None:
        """Let no call through until `down` is cleared."""
        self.down = {name for name in vars(Ledger) if not name.startswith("_")}

    async def _call(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        self.calls[name] = self.calls.get(name, 0) + 1
        if name in self.down:
            raise StoreUnavailable(f"{name} did not get through")
        if meanwhile := self.during.pop(name, None):
            await meanwhile()
        answer = await call()
        if name in self.deaf:
            raise StoreUnavailable(f"the answer to {name} was lost")
        return answer

    async def fire(self, planner: Planner, *, limit: int, ahead: timedelta = NOT_AHEAD) -> Fired:
        return await self._call("fire", lambda: self._inner.fire(planner, limit=limit, ahead=ahead))

    async def claim(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        return await self._call("claim", lambda: self._inner.claim(ids, worker_id=worker_id))

    async def claimed(self, ids: Sequence[UUID], *, worker_id: str) -> Sequence[Attempt]:
        return await self._call("claimed", lambda: self._inner.claimed(ids, worker_id=worker_id))

    async def renew(self, leases: Mapping[Hold, timedelta], *, worker_id: str) -> Sequence[Hold]:
        return await self._call("renew", lambda: self._inner.renew(leases, worker_id=worker_id))

    async def stopped(self, holds: Sequence[Hold]) -> Sequence[Hold]:
        return await self._call("stopped", lambda: self._inner.stopped(holds))

    async def finish(self, finishes: Sequence[Finish]) -> Finished:
        return await self._call("finish", lambda: self._inner.finish(finishes))

    async def release(self, holds: Sequence[Hold]) -> Sequence[Dispatch]:
        return await self._call("release", lambda: self._inner.release(holds))

    async def lapsed(self, *, limit: int) -> Sequence[Lapse]:
        return await self._call("lapsed", lambda: self._inner.lapsed(limit=limit))

    async def expired(self, holds: Sequence[Hold]) -> Sequence[Lease]:
        return await self._call("expired", lambda: self._inner.expired(holds))

    async def ready(self, *, limit: int) -> Ready:
        return await self._call("ready", lambda: self._inner.ready(limit=limit))

    async def undelivered(
        self,
        *,
        capabilities: Collection[str] | None,
        grace: timedelta,
        limit: int,
        after: tuple[UUID, datetime] | None = None,
    ) -> Sequence[tuple[Dispatch, datetime]]:
        def call() -> Awaitable[Sequence[tuple[Dispatch, datetime]]]:
            return self._inner.undelivered(capabilities=capabilities, grace=grace, limit=limit, after=after)

        return await self._call("undelivered", call)

    async def redispatch(self, seen: Sequence[tuple[UUID, datetime]]) -> Sequence[Dispatch]:
        return await self._call("redispatch", lambda: self._inner.redispatch(seen))

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        return await self._call("append_logs", lambda: self._inner.append_logs(lines))

    async def report(self, reports: Sequence[Progress]) -> None:
        return await self._call("report", lambda: self._inner.report(reports))

    async def recent_ledgers(self, *, since: datetime, limit: int, after: UUID | None = None) -> RecentLedgers:
        def call() -> Awaitable[RecentLedgers]:
            return self._inner.recent_ledgers(since=since, limit=limit, after=after)

        page = await self._call("recent_ledgers", call)
        if any(each.job.id in self.damaged for each in page.ledgers):
            raise ValueError("this is no document")
        return page

    async def recent_jobs(self, *, since: datetime, limit: int, after: UUID | None = None) -> Sequence[UUID]:
        def call() -> Awaitable[Sequence[UUID]]:
            return self._inner.recent_jobs(since=since, limit=limit, after=after)

        return await self._call("recent_jobs", call)

    async def purge(self, *, keep: timedelta, newest: int, limit: int, after: UUID | None = None) -> Purged:
        return await self._call("purge", lambda: self._inner.purge(keep=keep, newest=newest, limit=limit, after=after))


class BrittlePipe(InProcessDispatcher):
    """The dispatcher of one process, whose calls named in `down` fail; `sent` keeps each batch that was handed on."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__(monotonic=monotonic)
        self.down: set[str] = set()
        self.sent: list[Sequence[Dispatch]] = []

    async def dispatch(self, batch: Sequence[Dispatch]) -> None:
        self._refuse("dispatch")
        self.sent.append(batch)
        await super().dispatch(batch)

    async def receive(self, *, capabilities: Collection[str], limit: int, wait: float) -> Sequence[Dispatch]:
        self._refuse("receive")
        return await super().receive(capabilities=capabilities, limit=limit, wait=wait)

    async def acknowledge(self, batch: Sequence[Dispatch]) -> None:
        self._refuse("acknowledge")
        await super().acknowledge(batch)

    def _refuse(self, name: str) -> None:
        if name in self.down:
            raise ConnectionError(f"{name}: the pipe is gone")
