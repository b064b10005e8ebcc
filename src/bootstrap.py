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
from .adapters.handlers.functions import default_registry
from .adapters.handlers.modules import load_modules
from .adapters.handlers.scheduled import CodeJob, default_schedules
from .adapters.handlers.targets import TargetPolicy
from .adapters.memory import InProcessDispatcher
from .adapters.system import Uuid7Sequence
from .adapters.telemetry import OpenTelemetry, open_telemetry, timed
from .application.auditing import Auditor
from .application.declaring import CodeDeclarer
from .application.event_parts import EventParts, EventPorts
from .application.events import EventWakers
from .application.health import HealthCheck
from .application.node import Node
from .application.parts import Identity, Limits, Parts, Role
from .application.planning import Planning
from .application.retention import Retention
from .application.scheduler import Scheduler, Wakers
from .domain.json import Json, storable
from .engines import Engines, open_engines
from .ports.bells import GATHERER, HEARTBEAT, REGISTRATION, RELAY, TIMER, Bells
from .ports.clock import Clock
from .ports.scheduler import OnConflict
from .ports.telemetry import Metric, Telemetry
from .settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A node whose parts are open but whose loops do not run yet, and the scheduler that drives it."""

    node: Node
    scheduler: Scheduler
    health: HealthCheck
    telemetry: OpenTelemetry
    kill_commands: Callable[[], None]
    modules: Sequence[str] = ()

    async def start(self, jobs: Sequence[CodeJob] = ()) -> None:
        """Start the node, and declare the event handlers and the jobs, `jobs` among them, of its functions."""
        await self.node.start()
        if self.node.executor is not None:
            for definition in default_registry.subscriptions:
                await self.scheduler.on_event(definition, on_conflict=OnConflict.REPLACE)
            await self._declare([*default_schedules.jobs, *jobs])

    async def _declare(self, jobs: Sequence[CodeJob]) -> None:
        """Bring each module's jobs up to date; one that declares none may have done so before."""
        declarer = CodeDeclarer(scheduler=self.scheduler, telemetry=self.telemetry)
        for module in sorted({*self.modules, *(job.module for job in jobs)}):
            await declarer.declare(module, [job.declaration for job in jobs if job.module == module])


@asynccontextmanager
async def assemble(settings: Settings, clock: Clock) -> AsyncIterator[Assembly]:
    """Open everything that the settings name, in the order in which it must close again."""
    # A module of handlers may set up OpenTelemetry for the program, which is then used.
    load_modules(settings.handlers)
    async with AsyncExitStack() as stack:
        identity = _identity(settings)
        telemetry = await stack.enter_async_context(
            open_telemetry(form=settings.log_format, level=settings.log_level, instance_id=identity.worker_id)
        )
        opened = await stack.enter_async_context(open_engines(settings, clock, telemetry, worker_id=identity.worker_id))
        engines = _measured(opened, telemetry, has_redis=settings.redis_url is not None)
        retention = Retention(
            ledger=engines.storage.ledger,
            telemetry=telemetry,
            keep=timedelta(days=settings.retention_days),
            newest=settings.retention_newest,
        )
        health = HealthCheck(storage=engines.storage, clock=clock)
        handlers = await stack.enter_async_context(_handlers(settings, telemetry, health=health, retention=retention))
        runs = Role.EXECUTOR in settings.roles
        planning = Planning(CroniterCalendar(), Uuid7Sequence(), telemetry)
        pipe = engines.pipe or InProcessDispatcher(capabilities=handlers.capabilities if runs else frozenset)
        ports = EventPorts(
            storage=engines.storage,
            expressions=await stack.enter_async_context(open_cel()),
            planning=planning,
            dispatcher=pipe,
            clock=clock,
            telemetry=telemetry,
            wakers=_event_wakers(engines.bells),
            keep=retention.keep,
            intake=engines.streams.intake if engines.streams and settings.events_in else None,
            export=engines.streams.export if engines.streams and settings.events_out else None,
        )
        parts = Parts(
            storage=engines.storage,
            dispatcher=pipe,
            handlers=handlers,
            planning=planning,
            auditor=Auditor(planning=planning, keep=retention.keep),
            events=EventParts.of(ports),
            retention=retention,
            clock=clock,
            telemetry=telemetry,
        )
        node = Node(identity=identity, parts=parts, limits=_limits(settings, engines.wake_seconds))
        for bell in (TIMER, HEARTBEAT, REGISTRATION, GATHERER, RELAY):
            engines.bells.listen(bell, partial(node.wake, bell))
        health.executor, health.watch, health.pulses = node.executor, node.watch, node.pulses
        yield Assembly(
            node=node,
            scheduler=_scheduler(node, health, engines.bells),
            health=health,
            telemetry=telemetry,
            kill_commands=handlers.kill,
            modules=settings.handlers,
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


def _handlers(settings: Settings, telemetry: Telemetry, *, health: HealthCheck, retention: Retention) -> LocalHandlers:
    async def report() -> dict[str, Json]:
        return cast("dict[str, Json]", storable(asdict(await health())))

    return LocalHandlers(
        health=report,
        retention=retention.run,
        targets=TargetPolicy.allowing(settings.targets),
        commands=CommandHandler(os.environ) if settings.allow_commands else None,
        telemetry=telemetry,
    )


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
