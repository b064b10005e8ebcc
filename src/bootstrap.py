"""The composition root: settings in, a running scheduler out, and one exit stack that ends it all."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from importlib.metadata import version
from typing import Any, Final, cast

from .adapters.calendar import CroniterCalendar
from .adapters.handlers.catalog import LocalHandlers
from .adapters.handlers.command import CommandHandler
from .adapters.handlers.modules import load_modules
from .adapters.handlers.targets import TargetPolicy
from .adapters.memory import InProcessDispatcher, memory_storage
from .adapters.sqlite import open_sqlite
from .adapters.system import SystemClock, Uuid7Sequence
from .adapters.telemetry import StructuredLog
from .application.health import HealthCheck
from .application.node import Identity, Limits, Node, Parts, Role
from .application.planning import Planning
from .application.retention import Retention
from .application.scheduler import Scheduler, Wakers
from .domain.json import Json, storable
from .ports.clock import Clock
from .ports.storage import Storage
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
    Open a scheduler in this process: `sqlite:///PATH`, or `memory://` to keep nothing.

    With `run_loops` this process also fires, runs and recovers until the context ends, and then drains;
    without, it only makes and reads jobs, and other processes on the same file run them. `options` are
    settings by name, such as `concurrency=10`, `allow_commands=True`, `drain_seconds=5`.

    Raises:
        InvalidInput: an option does not exist or breaks a bound.
        StoreUnavailable: the database cannot be opened.
    """
    loops = ALL_LOOPS if run_loops else ()
    named = {"log_level": "warning", **options, "database_url": database_url, "roles": loops}
    settings = load_settings(named, environment={})
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
        storage = await open_storage(settings, clock, stack)
        retention = Retention(
            ledger=storage.ledger,
            telemetry=telemetry,
            keep=timedelta(days=settings.retention_days),
            newest=settings.retention_newest,
        )
        health = HealthCheck(storage=storage, clock=clock)
        handlers = await stack.enter_async_context(_handlers(settings, health, retention))
        runs = Role.EXECUTOR in settings.roles
        parts = Parts(
            storage=storage,
            dispatcher=InProcessDispatcher(capabilities=handlers.capabilities if runs else frozenset),
            handlers=handlers,
            planning=Planning(CroniterCalendar(), Uuid7Sequence(), telemetry),
            retention=retention,
            clock=clock,
            telemetry=telemetry,
        )
        node = _node(settings, parts)
        health.executor, health.pulses = node.executor, node.pulses
        yield Assembly(node=node, scheduler=_scheduler(node, health), health=health, kill_commands=handlers.kill)


WAKE_SECONDS_IN_MEMORY: Final = 5.0
WAKE_SECONDS_ON_A_FILE: Final = 1.0
"""Processes that share a file share no bell, so each looks more often, and sooner asks what got lost."""


async def open_storage(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Storage:
    """Open the database that the URL names."""
    if settings.database_path is None:
        return memory_storage(clock)
    return await stack.enter_async_context(open_sqlite(settings.database_path, clock))


def _handlers(settings: Settings, health: HealthCheck, retention: Retention) -> LocalHandlers:
    async def report() -> dict[str, Json]:
        return cast("dict[str, Json]", storable(asdict(await health())))

    return LocalHandlers(
        health=report,
        retention=retention.run,
        targets=TargetPolicy.allowing(settings.targets),
        commands=CommandHandler(os.environ) if settings.allow_commands else None,
    )


def _node(settings: Settings, parts: Parts) -> Node:
    identity = Identity(
        name=settings.worker_name,
        boot_id=secrets.token_hex(4),
        version=version("tocsin"),
        roles=settings.roles,
    )
    wake = WAKE_SECONDS_IN_MEMORY if settings.database_path is None else WAKE_SECONDS_ON_A_FILE
    limits = Limits(
        capacity=settings.concurrency,
        wake_seconds=wake,
        dispatch_grace=timedelta(seconds=wake),
        drain_seconds=settings.drain_seconds,
    )
    return Node(identity=identity, parts=parts, limits=limits)


def _scheduler(node: Node, health: HealthCheck) -> Scheduler:
    return Scheduler(
        storage=node.parts.storage,
        planning=node.parts.planning,
        dispatcher=node.parts.dispatcher,
        handlers=node.parts.handlers,
        health=health,
        wakers=Wakers(timer=lambda: node.wake("timer"), heartbeat=lambda: node.wake("heartbeat")),
    )
