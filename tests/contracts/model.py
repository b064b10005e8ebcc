"""Two stores side by side: every call goes to both, and both must answer and remember the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import TypeAlias
from uuid import UUID

from tests.contracts.steps import TENANT, executions_of, recount, versions_of
from tests.makers import occurrences_of
from tocsin.domain.audit import check_ledger
from tocsin.domain.errors import TocsinError
from tocsin.domain.execution import JobExecution, Origin
from tocsin.domain.firing import fire
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.domain.ledger import Window
from tocsin.domain.lifecycle import Moment
from tocsin.domain.occurrences import EARLIEST
from tocsin.domain.plan import Decision, NewId, Plan
from tocsin.ports.dispatcher import Dispatch
from tocsin.ports.ledger import Planner
from tocsin.ports.storage import Storage

Step: TypeAlias = Callable[[ScheduledJob, Moment], Plan]
Call: TypeAlias = Callable[[Storage, NewId], Awaitable[object]]


class Ids:
    """Hands out the same rising ids to each store, as long as both ask for as many."""

    def __init__(self) -> None:
        self._first = 0

    def fresh(self) -> NewId:
        """Start again where the last call of both stores started, less what was skipped by `move_on`."""
        numbers = count(self._first)
        return lambda _: UUID(int=(0x7 << 76) | (0b10 << 62) | next(numbers))

    def move_on(self) -> None:
        """Leave the ids behind that a call may have used."""
        self._first += 10_000


class Twins:
    """Stores that are told the same and must say the same."""

    def __init__(self, stores: Sequence[Storage]) -> None:
        self._stores = stores
        self._ids = Ids()

    async def ask(self, call: Call) -> object:
        """Make one call on each; answer what the first said, or None if it raised."""
        answers = [await _answer(call, store, self._ids.fresh()) for store in self._stores]
        self._ids.move_on()
        seen = [comparable(answer) for answer in answers]
        assert all(each == seen[0] for each in seen[1:])
        return None if isinstance(answers[0], TocsinError) else answers[0]

    async def executions(self, jobs: Sequence[ScheduledJob]) -> list[UUID]:
        """Name every execution of these jobs, oldest first."""
        return [row.id for job in jobs for row in await executions_of(self._stores[0], job)]

    async def check(self, jobs: Sequence[ScheduledJob]) -> None:
        """Hold what each store remembers against the other and against a recount."""
        for job in jobs:
            histories = [await _history(store, job) for store in self._stores]
            assert all(each == histories[0] for each in histories[1:])
            for store in self._stores:
                await _check_job(store, job)
        for store in self._stores:
            await _check_ledgers(store)
        queues = [comparable(await store.executions.queue(None)) for store in self._stores]
        figures = [
            comparable(await store.executions.figures(TENANT, job_id=None, since=None)) for store in self._stores
        ]
        assert all(each == queues[0] for each in queues[1:])
        assert all(each == figures[0] for each in figures[1:])


def planner(new_id: NewId) -> Planner:
    """The real plan of a fire, with ids of the test's choosing."""

    def plan(job: ScheduledJob, now: datetime) -> Plan:
        return fire(job, now, occurrences_of(job), new_id)

    return plan


def decision(step: Step, new_id: NewId) -> Decision:
    """A step of a job's life, with ids of the test's choosing."""

    def decide(job: ScheduledJob, now: datetime) -> Plan:
        return step(job, Moment(now=now, occurrences=occurrences_of, new_id=new_id, by="tester"))

    return decide


def comparable(value: object) -> object:
    """Reduce an answer to what the contract fixes: the order of dispatches is not, nor the type of a sequence."""
    if isinstance(value, TocsinError):
        return type(value), str(value)
    if is_dataclass(value):
        return {field.name: comparable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        items = sorted(value, key=lambda each: each.execution_id) if _are_dispatches(value) else value
        return [comparable(each) for each in items]
    return value


def _are_dispatches(values: Sequence[object]) -> bool:
    return all(isinstance(each, Dispatch) for each in values)


async def _answer(call: Call, store: Storage, new_id: NewId) -> object:
    try:
        return await call(store, new_id)
    except TocsinError as error:
        return error


async def _history(store: Storage, job: ScheduledJob) -> object:
    rows = await executions_of(store, job)
    stored = await _answer(lambda each, _: each.jobs.get(job.tenant_id, job.id), store, _no_id)
    versions = await _answer(lambda each, _: versions_of(each, job.tenant_id, job.id), store, _no_id)
    return comparable([rows, stored, versions])


def _no_id(instant: datetime) -> UUID:
    raise AssertionError(instant)


async def _check_job(store: Storage, job: ScheduledJob) -> None:
    rows = await executions_of(store, job)
    nominal = [row.scheduled_at for row in rows if row.origin is Origin.SCHEDULE]
    assert len(nominal) == len(set(nominal))
    assert all(row.holds_slot <= (row.lease_expires_at is not None) for row in rows if row.status.terminal)
    stored = await _answer(lambda each, _: each.jobs.get(job.tenant_id, job.id), store, _no_id)
    if isinstance(stored, ScheduledJob):
        _check_counters(stored, rows)


async def _check_ledgers(store: Storage) -> None:
    """Have the proof find nothing in any ledger, over all of it and over its last five minutes."""
    now = await store.jobs.now()
    for since in (EARLIEST, now - timedelta(minutes=5)):
        page = await store.ledger.recent_ledgers(since=since, limit=100)
        assert page.next_after is None
        for ledger in page.ledgers:
            window = Window(after=since, until=page.now)
            report = check_ledger(ledger, window, now=page.now, sources=occurrences_of)
            assert (report.findings, report.notes) == ((), ())


def _check_counters(job: ScheduledJob, rows: Sequence[JobExecution]) -> None:
    counters, recounted = job.counters, recount(rows)
    assert replace(counters, consecutive_failures=0) == recounted
    assert job.admissible == 0
    assert 0 <= counters.consecutive_failures <= counters.failure_count
    assert not (job.exhausted and job.status is JobStatus.ACTIVE and counters.live == 0)
    assert (job.next_run is None) or job.status is JobStatus.ACTIVE
