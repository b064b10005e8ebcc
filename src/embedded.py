"""A scheduler inside a program of somebody else's, with the jobs that the program's functions declare."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any, Final

from .adapters.handlers.functions import FunctionRegistry, default_registry
from .adapters.handlers.scheduled import ScheduledFunctions
from .adapters.system import SystemClock
from .application.parts import Role
from .application.scheduler import Scheduler
from .bootstrap import assemble
from .domain.errors import InvalidInput
from .settings import load_settings

ALL_LOOPS: Final = (Role.TIMER, Role.EXECUTOR, Role.SWEEPER)


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


class EmbeddedScheduler(ScheduledFunctions, AbstractAsyncContextManager[Scheduler]):
    """
    A scheduler of this process before and while it is open; entering it opens it, and answers what drives it.

    Functions decorated with its `every` and `cron` are handlers, and with `run_loops` their jobs are made, or brought
    up to date, as it opens. Decorate before you enter.
    """

    def __init__(self, database_url: str, *, run_loops: bool, **options: Any) -> None:  # noqa: ANN401 - as above
        # A program may make several: what one of them declares is no handler of the others.
        self._functions = FunctionRegistry(behind=default_registry)
        super().__init__(self._functions)
        self._options = {"log_level": "warning", **options, "database_url": database_url}
        self._run_loops = run_loops
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Scheduler:
        """Open it, and with `run_loops` start its node."""
        if "roles" in self._options:
            raise InvalidInput.of("roles", "cannot be named here: with run_loops they are all but api, without none")
        loops = ALL_LOOPS if self._run_loops else ()
        # Who only makes and reads jobs has no role, which a node may not be told.
        settings = load_settings({**self._options, "roles": ALL_LOOPS}, environment={})
        async with AsyncExitStack() as opening:
            wanted = settings.model_copy(update={"roles": loops})
            assembly = await opening.enter_async_context(assemble(wanted, SystemClock(), self._functions))
            opening.push_async_callback(assembly.node.stop)
            await assembly.start(self.jobs)
            self._stack = opening.pop_all()
        return assembly.scheduler

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Drain the node and close everything."""
        return await self._stack.__aexit__(kind, error, traceback)
