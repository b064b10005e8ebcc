"""The composition root: settings in, a running scheduler out, and one exit stack that ends it all."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from typing import Any, cast

from .adapters.calendar import CroniterCalendar
from .adapters.handlers.catalog import LocalHandlers
from .adapters.handlers.command import CommandHandler
from .adapters.handlers.modules import load_modules
from .adapters.handlers.targets import TargetPolicy
from .adapters.memory import InProcessDispatcher
from .adapters.system import SystemClock, Uuid7Sequence
from .adapters.telemetry import StructuredLog
from .application.health import HealthCheck
from .application.node import Node
from .application.parts import Identity, Limits, Parts, Role
from .application.planning import Planning
from .application.retention import Retention
from .application.scheduler import Scheduler, Wakers
from .domain.json import Json, storable
from .engines import open_engines
from .ports.bells import HEARTBEAT, REGISTRATION, TIMER, Bells
from .ports.clock import Clock
from .settings import Settings, load_settings

ALL_LOOPS = (Role.TIMER, Role.EXECUTOR, Role.SWEEPER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A node whose parts are open but whose loops do not run yet, and the scheduler that drives it."""

    node: Node
    scheduler: Scheduler
    health: HealthCheck
    kill_commands: Callable[[], None]


@asynccontextmanager
async def open_scheduler(
    database_url: str = "sqlite:///tocsin.db",
    *,
    run_loops: bool = False,
    **options: Any,  # noqa: ANN401 - checked by Settings
) -> AsyncIterator[Scheduler]:
    """
    Open a scheduler in this process: `sqlite:///PATH`, `postgresql://USER@HOST/DATABASE`, or `memory://`.

    With `run_loops` this process also fires, runs and recovers until the context ends, and then drains;
    without, it only makes and reads jobs, and other processes on the same database run them. `options` are
    settings by name, such as `concurrency=10`, `allow_commands=True`, `drain_seconds=5`.

    Raises:
        InvalidInput: an option does not exist or breaks a bound.
        StoreUnavailable: the database cannot be opened.
    """
    loops = ALL_LOOPS if run_loops else ()
    named = {"log_level": "warning", **options, "database_url": database_url, "roles": ALL_LOOPS}
    # Who only makes and reads jobs has no role, which a node may not be told.
    settings = load_settings(named, environment={}).model_copy(update={"roles": loops})
    async with assemble(settings, SystemClock()) as assembly:
        await assembly.node.start()
        try:
            yield assembly.scheduler
        finally:
            await assembly.node.stop()


@asynccontextmanager
async def assemble(settings: Settings, clock: Clock) -> AsyncIterator[Assembly]:
    """Open everything that the settings name, in the order in which it must close again."""
    telemetry = StructuredLog(form=settings.log_format, level=settings.log_level)
    load_modules(settings.handlers)
    async with AsyncExitStack() as stack:
        identity = _identity(settings)
        engines = await stack.enter_async_context(
            open_engines(settings, clock, telemetry, worker_id=identity.worker_id)
        )
        retention = Retention(
            ledger=engines.storage.ledger,
            telemetry=telemetry,
            keep=timedelta(days=settings.retention_days),
            newest=settings.retention_newest,
        )
        health = HealthCheck(storage=engines.storage, clock=clock)
        handlers = await stack.enter_async_context(_handlers(settings, health, retention))
        runs = Role.EXECUTOR in settings.roles
        parts = Parts(
            storage=engines.storage,
            dispatcher=engines.pipe or InProcessDispatcher(capabilities=handlers.capabilities if runs else frozenset),
            handlers=handlers,
            planning=Planning(CroniterCalendar(), Uuid7Sequence(), telemetry),
            retention=retention,
            clock=clock,
            telemetry=telemetry,
        )
        node = Node(identity=identity, parts=parts, limits=_limits(settings, engines.wake_seconds))
        for bell in (TIMER, HEARTBEAT, REGISTRATION):
            engines.bells.listen(bell, partial(node.wake, bell))
        health.executor, health.watch, health.pulses = node.executor, node.watch, node.pulses
        yield Assembly(
            node=node,
            scheduler=_scheduler(node, health, engines.bells),
            health=health,
            kill_commands=handlers.kill,
        )


def _handlers(settings: Settings, health: HealthCheck, retention: Retention) -> LocalHandlers:
    async def report() -> dict[str, Json]:
        return cast("dict[str, Json]", storable(asdict(await health())))

    return LocalHandlers(
        health=report,
        retention=retention.run,
        targets=TargetPolicy.allowing(settings.targets),
        commands=CommandHandler(os.environ) if settings.allow_commands else None,
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


def _scheduler(node: Node, health: HealthCheck, bells: Bells) -> Scheduler:
    return Scheduler(
        storage=node.parts.storage,
        planning=node.parts.planning,
        dispatcher=node.parts.dispatcher,
        handlers=node.parts.handlers,
        health=health,
        telemetry=node.parts.telemetry,
        keep=node.parts.retention.keep,
        wakers=Wakers(
            timer=partial(bells.ring, TIMER),
            heartbeat=partial(bells.ring, HEARTBEAT),
            registration=partial(bells.ring, REGISTRATION),
        ),
    )
