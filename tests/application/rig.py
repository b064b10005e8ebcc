"""The loops of one node, or several, over one memory and one clock that stands still; nothing runs by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.application.faults import BrittlePipe, FaultyLedger
from tests.makers import an_event_job
from tocsin.adapters.calendar import CroniterCalendar
from tocsin.adapters.handlers.catalog import LocalHandlers
from tocsin.adapters.handlers.functions import FunctionRegistry
from tocsin.adapters.memory import memory_storage
from tocsin.adapters.system import ManualClock, Uuid7Sequence
from tocsin.adapters.telemetry import StructuredLog
from tocsin.application.auditing import Auditor
from tocsin.application.event_parts import EventParts, EventPorts
from tocsin.application.executor import CAPACITY, Executor
from tocsin.application.health import HealthCheck
from tocsin.application.planning import Planning
from tocsin.application.retention import Retention
from tocsin.application.scheduler import Scheduler
from tocsin.application.sweeper import Sweeper
from tocsin.application.timer import Timer
from tocsin.domain.execution import JobExecution
from tocsin.domain.job import DEFAULT_TENANT, ScheduledJob
from tocsin.domain.json import Json
from tocsin.ports.dispatcher import Dispatcher
from tocsin.ports.expressions import Expressions
from tocsin.ports.ledger import LogLine
from tocsin.ports.queries import ExecutionFilter
from tocsin.ports.storage import Storage
from tocsin.ports.telemetry import Attribute, Metric, Span, SpanStart

GRACE = timedelta(seconds=1)


class Notes(StructuredLog):
    """Telemetry that is kept to be read (`ports.telemetry.Telemetry`): lines, figures, and spans while it `records`."""

    def __init__(self) -> None:
        super().__init__()
        self.records = False
        self.lines: list[tuple[str, str, dict[str, object]]] = []
        self.figures: list[tuple[Metric, float, dict[str, Attribute]]] = []
        self.spans: list[SpanStart] = []

    @property
    def traces(self) -> bool:
        return self.records

    def span(self, start: SpanStart) -> AbstractContextManager[Span]:
        self.spans += [start] * self.records
        return super().span(start)

    def record(self, start: SpanStart, *, ended_at: datetime) -> None:
        super().record(start, ended_at=ended_at)
        self.spans.append(start)

    def add(self, metric: Metric, amount: int = 1, **labels: Attribute) -> None:
        self.figures.append((metric, amount, labels))

    def observe(self, metric: Metric, *values: float, **labels: Attribute) -> None:
        self.figures += [(metric, value, labels) for value in values]

    def gauge(self, metric: Metric, value: float, **labels: Attribute) -> None:
        self.figures.append((metric, value, labels))

    def debug(self, event: str, **fields: object) -> None:
        self.lines.append(("debug", event, fields))

    def info(self, event: str, **fields: object) -> None:
        self.lines.append(("info", event, fields))

    def warning(self, event: str, **fields: object) -> None:
        self.lines.append(("warning", event, fields))

    def error(self, event: str, **fields: object) -> None:
        self.lines.append(("error", event, fields))

    def of(self, event: str) -> list[dict[str, object]]:
        """What was said about one event."""
        return [fields for _, name, fields in self.lines if name == event]


class Rig:
    """One node's loops, driven by hand; `another_executor` and `another_sweeper` are other nodes on the same store."""

    def __init__(self, expressions: Expressions) -> None:
        self.clock = ManualClock()
        memory = memory_storage(self.clock)
        self.ledger = FaultyLedger(memory.ledger)
        self.storage = replace(memory, ledger=self.ledger)
        self.pipe = BrittlePipe(self.clock.monotonic)
        self.notes = Notes()
        self.functions = FunctionRegistry()
        self.retention = Retention(ledger=self.ledger, telemetry=self.notes)
        self.handlers = LocalHandlers(health=_nothing, retention=self.retention.run, functions=self.functions)
        self.planning = Planning(CroniterCalendar(), Uuid7Sequence(), self.notes)
        self.auditor = Auditor(planning=self.planning)
        self.expressions = expressions
        self.events = self.events_on(self.storage, self.pipe)
        self.timer = self.another_timer()
        self.executor = self.another_executor("node-1#a")
        self.sweeper = self.another_sweeper()
        self.health = HealthCheck(storage=self.storage, clock=self.clock, executor=self.executor)
        self.scheduler = Scheduler(
            storage=self.storage,
            planning=self.planning,
            auditor=self.auditor,
            events=self.events.events,
            dispatcher=self.pipe,
            handlers=self.handlers,
            health=self.health,
            telemetry=self.notes,
        )

    def events_on(self, storage: Storage, pipe: Dispatcher) -> EventParts:
        """Build what a node on this store has for events."""
        ports = EventPorts(
            storage=storage,
            expressions=self.expressions,
            planning=self.planning,
            dispatcher=pipe,
            clock=self.clock,
            telemetry=self.notes,
        )
        return EventParts.of(ports)

    def another_timer(self) -> Timer:
        return Timer(ledger=self.ledger, dispatcher=self.pipe, planning=self.planning, telemetry=self.notes)

    def another_executor(self, worker_id: str) -> Executor:
        return Executor(
            ledger=self.ledger,
            dispatcher=self.pipe,
            handlers=self.handlers,
            clock=self.clock,
            telemetry=self.notes,
            worker_id=worker_id,
            capacity=CAPACITY,
            receive_wait=0.0,
        )

    def another_sweeper(self) -> Sweeper:
        return Sweeper(
            ledger=self.ledger,
            workers=self.storage.workers,
            outbox=self.storage.outbox,
            dispatcher=self.pipe,
            clock=self.clock,
            telemetry=self.notes,
            capabilities=self.handlers.capabilities,
            grace=GRACE,
        )

    def handle(self, name: str, function: Callable[..., Any]) -> None:
        """Register a handler."""
        self.functions.handler(name)(function)

    async def a_job(self, function: Callable[..., Any], **fields: object) -> ScheduledJob:
        """Store a job without a timer that runs this function; no bound of a definition is held against it."""
        name = f"work-{len(self.functions.names())}"
        self.handle(name, function)
        return await self.storage.jobs.add(an_event_job(handler_name=name, **fields))

    async def trigger(self, job: ScheduledJob) -> UUID:
        """Run a job by hand; answer the execution's id."""
        return (await self.scheduler.trigger_job(job.id)).id

    async def start(self, function: Callable[..., Any], **fields: object) -> UUID:
        """Make a job, trigger it, and have the executor start its handler; answer the execution's id."""
        execution_id = await self.trigger(await self.a_job(function, **fields))
        await self.take()
        return execution_id

    async def take(self, executor: Executor | None = None) -> None:
        """Claim and start what waits, and let each handler come to its first wait."""
        await (executor or self.executor).run_once()
        await asyncio.sleep(0)

    async def handlers_end(self, executor: Executor | None = None) -> None:
        """Wait until the handlers of an executor are gone."""
        while tasks := [held.task for held in (executor or self.executor).holds.values() if held.task]:
            await asyncio.wait(tasks)

    async def work(self, executor: Executor | None = None) -> None:
        """Run what waits, and all that it makes room for, to its end in the ledger."""
        worker = executor or self.executor
        await self.take(worker)
        while worker.holds or worker.ends.unwritten:
            await self.handlers_end(worker)
            await worker.flush()
            await self.take(worker)

    async def execution(self, execution_id: UUID) -> JobExecution:
        return await self.storage.executions.get(DEFAULT_TENANT, execution_id)

    async def history(self, job: ScheduledJob) -> list[JobExecution]:
        """Read the executions of a job, oldest nominal time first."""
        page = await self.storage.executions.list(DEFAULT_TENANT, ExecutionFilter(job_id=job.id, limit=250))
        return list(reversed(page.items))

    async def job(self, job: ScheduledJob) -> ScheduledJob:
        return await self.storage.jobs.get(DEFAULT_TENANT, job.id)

    async def logs(self, execution_id: UUID) -> Sequence[LogLine]:
        page = await self.storage.executions.logs(DEFAULT_TENANT, execution_id, after=0, limit=10_000)
        return page.items


async def _nothing() -> dict[str, Json]:
    return {}
