"""A scheduler inside a program of somebody else's, with the jobs that the program's functions declare."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, TypeVar, Unpack

from .adapters.handlers.functions import default_registry
from .adapters.handlers.scheduled import ScheduledFunctions, ScheduleOptions
from .adapters.system import SystemClock
from .application.parts import Role
from .application.scheduler import Scheduler
from .bootstrap import assemble
from .settings import load_settings

ALL_LOOPS: Final = (Role.TIMER, Role.EXECUTOR, Role.SWEEPER)

Function = TypeVar("Function", bound=Callable[..., object])


def open_scheduler(
    database_url: str = "sqlite:///tocsin.db",
    *,
    run_loops: bool = False,
    **options: Any,  # noqa: ANN401 - checked by Settings
) -> EmbeddedScheduler:
    """
    Open a scheduler in this process: `sqlite:///PATH`, `postgresql://USER@HOST/DATABASE`, or `memory://`.

    With `run_loops` this process also fires, runs and recovers until the context ends, and then drains;
    without, it only makes and reads jobs, and other processes on the same database run them. `options` are
    settings by name, such as `concurrency=10`, `allow_commands=True`, `drain_seconds=5`.

    Raises (once it is entered):
        InvalidInput: an option does not exist or breaks a bound, or a job that the code declares is refused.
        StoreUnavailable: the database cannot be opened.
    """
    return EmbeddedScheduler(database_url, run_loops=run_loops, **options)


class EmbeddedScheduler(AbstractAsyncContextManager[Scheduler]):
    """
    A scheduler of this process before and while it is open; entering it opens it, and answers what drives it.

    Functions decorated with it are handlers, and with `run_loops` their jobs are made, or brought up to date, as it
    opens (`adapters.handlers.scheduled`). Decorate before you enter.
    """

    def __init__(self, database_url: str, *, run_loops: bool, **options: Any) -> None:  # noqa: ANN401 - as above
        self._options = {"log_level": "warning", **options, "database_url": database_url}
        self._run_loops = run_loops
        self._declared = ScheduledFunctions(default_registry)
        self._stack = AsyncExitStack()

    def every(
        self,
        length: str | timedelta,
        *,
        name: str | None = None,
        key: str | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> Callable[[Function], Function]:
        """Run the decorated function every so often (`ScheduledFunctions.every`)."""
        return self._declared.every(length, name=name, key=key, **options)

    def cron(
        self,
        expression: str,
        *,
        timezone: str = "UTC",
        name: str | None = None,
        key: str | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> Callable[[Function], Function]:
        """Run the decorated function by a cron (`ScheduledFunctions.cron`)."""
        return self._declared.cron(expression, timezone=timezone, name=name, key=key, **options)

    async def __aenter__(self) -> Scheduler:
        """Open it, and with `run_loops` start its node."""
        loops = ALL_LOOPS if self._run_loops else ()
        # Who only makes and reads jobs has no role, which a node may not be told.
        settings = load_settings({**self._options, "roles": ALL_LOOPS}, environment={})
        async with AsyncExitStack() as opening:
            wanted = settings.model_copy(update={"roles": loops})
            assembly = await opening.enter_async_context(assemble(wanted, SystemClock()))
            opening.push_async_callback(assembly.node.stop)
            await assembly.start(self._declared.jobs)
            self._stack = opening.pop_all()
        return assembly.scheduler

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Drain the node and close everything."""
        return await self._stack.__aexit__(kind, error, traceback)
