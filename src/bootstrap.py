"""The composition root: settings in, a running scheduler out, and one exit stack that ends it all."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from typing import cast

from .adapters.calendar import CroniterCalendar
from .adapters.cel import open_cel
from .adapters.handlers.catalog import LocalHandlers
from .adapters.handlers.command import CommandHandler
from .adapters.handlers.functions import FunctionRegistry, default_registry
from .adapters.handlers.modules import load_modules
from .adapters.handlers.scheduled import CodeJob, default_schedules
from .adapters.handlers.targets import TargetPolicy
from .adapters.memory import InProcessDispatcher
from .adapters.system import Uuid7Sequence
from .adapters.telemetry import OpenTelemetry, open_telemetry, timed
from .application.auditing import Auditor
from .application.changing import Wakers
from .application.declaring import CodeDeclarer
from .application.event_parts import EventParts, EventPorts
from .application.events import EventWakers
from .application.health import HealthCheck
from .application.node import Node
from .application.parts import Identity, Limits, Parts, Role
from .application.planning import Planning
from .application.retention import Retention
from .application.scheduler import Scheduler
from .domain.json import Json, storable
from .engines import Engines, open_engines
from .ports.bells import GATHERER, HEARTBEAT, REGISTRATION, RELAY, TIMER, Bells
from .ports.clock import Clock
from .ports.conflicts import OnConflict
from .ports.dispatcher import Dispatcher
from .ports.expressions import Expressions
from .ports.telemetry import Metric
from .settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A node whose parts are open but whose loops do not run yet, and the scheduler that drives it."""

    node: Node
    scheduler: Scheduler
    health: HealthCheck
    telemetry: OpenTelemetry
    kill_commands: Callable[[], None]
    functions: FunctionRegistry = default_registry
    modules: Sequence[str] = ()

    async def start(self, jobs: Sequence[CodeJob] = ()) -> None:
        """Start the node, and declare the event handlers and the jobs, `jobs` among them, of its functions."""
        await self.node.start()
        if self.node.executor is not None:
            for definition in self.functions.subscriptions:
                await self.scheduler.on_event(definition, on_conflict=OnConflict.REPLACE)
            await self._declare([*default_schedules.jobs, *jobs])

    async def _declare(self, jobs: Sequence[CodeJob]) -> None:
        """Bring each module's jobs up to date; one that declares none may have done so before."""
        declarer = CodeDeclarer(scheduler=self.scheduler, telemetry=self.telemetry)
        for module in sorted({*self.modules, *(job.module for job in jobs)}):
            await declarer.declare(module, [job.declaration for job in jobs if job.module == module])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What everything else of a node stands on."""

    settings: Settings
    clock: Clock
    telemetry: OpenTelemetry
    engines: Engines
    planning: Planning
    retention: Retention
    health: HealthCheck


@asynccontextmanager
async def assemble(
    settings: Settings, clock: Clock, functions: FunctionRegistry = default_registry
) -> AsyncIterator[Assembly]:
    """Open everything that the settings name, in the order in which it must close again."""
    # A module of handlers may set up OpenTelemetry for the program, which is then used.
    load_modules(settings.handlers)
    async with AsyncExitStack() as stack:
        identity = _identity(settings)
        ground = await _opened(stack, settings, clock, worker_id=identity.worker_id)
        handlers = await stack.enter_async_context(_handlers(ground, functions))
        expressions = await stack.enter_async_context(open_cel())
        parts = _parts(ground, handlers, expressions)
        node = Node(identity=identity, parts=parts, limits=_limits(settings, ground.engines.wake_seconds))
        _wire(node, ground)
        yield Assembly(
            node=node,
            scheduler=_scheduler(node, ground.health, ground.engines.bells),
            health=ground.health,
            telemetry=ground.telemetry,
            kill_commands=handlers.kill,
            functions=functions,
            modules=settings.handlers,
        )


async def _opened(stack: AsyncExitStack, settings: Settings, clock: Clock, *, worker_id: str) -> _Ground:
    telemetry = await stack.enter_async_context(
        open_telemetry(form=settings.log_format, level=settings.log_level, instance_id=worker_id)
    )
    opened = await stack.enter_async_context(open_engines(settings, clock, telemetry, worker_id=worker_id))
    engines = _measured(opened, telemetry, has_redis=settings.redis_url is not None)
    return _Ground(
        settings=settings,
        clock=clock,
        telemetry=telemetry,
        engines=engines,
        planning=Planning(CroniterCalendar(), Uuid7Sequence(), telemetry),
        retention=Retention(
            ledger=engines.storage.ledger,
            telemetry=telemetry,
            keep=timedelta(days=settings.retention_days),
            newest=settings.retention_newest,
        ),
        health=HealthCheck(storage=engines.storage, clock=clock),
    )


def _measured(engines: Engines, telemetry: OpenTelemetry, *, has_redis: bool) -> Engines:
    """Have every call of the stores measured, and of the pipe if that is one of its own; waiting is no call."""
    if (connections := engines.connections) is not None:
        telemetry.watch(Metric.POOL_SIZE, lambda: connections()[0])
        telemetry.watch(Metric.POOL_IN_USE, lambda: connections()[1])
    faces = {
        face.name: timed(getattr(engines.storage, face.name), telemetry, Metric.STORE_TIME, name=face.name)
        for face in fields(engines.storage)
    }
    pipe = engines.pipe
    if pipe is not None and has_redis:
        pipe = timed(pipe, telemetry, Metric.PIPE_TIME, but=("receive",))
    return replace(engines, storage=replace(engines.storage, **faces), pipe=pipe)


def _handlers(ground: _Ground, functions: FunctionRegistry) -> LocalHandlers:
    async def report() -> dict[str, Json]:
        return cast("dict[str, Json]", storable(asdict(await ground.health())))

    return LocalHandlers(
        health=report,
        retention=ground.retention.run,
        functions=functions,
        targets=TargetPolicy.allowing(ground.settings.targets),
        commands=CommandHandler(os.environ) if ground.settings.allow_commands else None,
        telemetry=ground.telemetry,
    )


def _parts(ground: _Ground, handlers: LocalHandlers, expressions: Expressions) -> Parts:
    engines, runs = ground.engines, Role.EXECUTOR in ground.settings.roles
    dispatcher = engines.pipe or InProcessDispatcher(capabilities=handlers.capabilities if runs else frozenset)
    return Parts(
        storage=engines.storage,
        dispatcher=dispatcher,
        handlers=handlers,
        planning=ground.planning,
        auditor=Auditor(planning=ground.planning, keep=ground.retention.keep),
        events=_events(ground, dispatcher, expressions),
        retention=ground.retention,
        clock=ground.clock,
        telemetry=ground.telemetry,
    )


def _events(ground: _Ground, dispatcher: Dispatcher, expressions: Expressions) -> EventParts:
    settings, engines = ground.settings, ground.engines
    ports = EventPorts(
        storage=engines.storage,
        expressions=expressions,
        planning=ground.planning,
        dispatcher=dispatcher,
        clock=ground.clock,
        telemetry=ground.telemetry,
        wakers=_event_wakers(engines.bells),
        keep=ground.retention.keep,
        intake=engines.streams.intake if engines.streams and settings.events_in else None,
        export=engines.streams.export if engines.streams and settings.events_out else None,
    )
    return EventParts.of(ports)


def _wire(node: Node, ground: _Ground) -> None:
    """Have the bells wake the node, and the check of its health look at it."""
    for bell in (TIMER, HEARTBEAT, REGISTRATION, GATHERER, RELAY):
        ground.engines.bells.listen(bell, partial(node.wake, bell))
    ground.health.executor, ground.health.watch, ground.health.pulses = node.executor, node.watch, node.pulses


def _identity(settings: Settings) -> Identity:
    return Identity(
        name=settings.worker_name,
        boot_id=secrets.token_hex(4),
        version=version("tocsin"),
        roles=settings.roles,
    )


def _limits(settings: Settings, wake_seconds: float) -> Limits:
    return Limits(
        capacity=settings.concurrency,
        wake_seconds=wake_seconds,
        dispatch_grace=timedelta(seconds=wake_seconds),
        drain_seconds=settings.drain_seconds,
    )


def _event_wakers(bells: Bells) -> EventWakers:
    return EventWakers(
        timer=partial(bells.ring, TIMER),
        heartbeat=partial(bells.ring, HEARTBEAT),
        gatherer=partial(bells.ring, GATHERER),
        relay=partial(bells.ring, RELAY),
    )


def _scheduler(node: Node, health: HealthCheck, bells: Bells) -> Scheduler:
    return Scheduler(
        storage=node.parts.storage,
        planning=node.parts.planning,
        auditor=node.parts.auditor,
        events=node.parts.events.events,
        dispatcher=node.parts.dispatcher,
        handlers=node.parts.handlers,
        health=health,
        telemetry=node.parts.telemetry,
        wakers=Wakers(
            timer=partial(bells.ring, TIMER),
            heartbeat=partial(bells.ring, HEARTBEAT),
            registration=partial(bells.ring, REGISTRATION),
        ),
    )
