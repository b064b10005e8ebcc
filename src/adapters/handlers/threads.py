"""Plain functions, each call in a daemon thread of its own."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...domain.errors import HandlerFailed
from .completion import see_through, start_thread


@dataclass(frozen=True, slots=True)
class _Outcome:
    result: object = None
    error: BaseException | None = None


class Threads:
    """
    Calls plain functions without blocking the loop.

    A thread cannot be stopped, so a cancelled call stays open until its thread has really ended. Only
    `abandon`, for a node that is going away, ends the calls before their threads, which die with the process.
    """

    def __init__(self) -> None:
        self._open: set[asyncio.Future[_Outcome]] = set()

    async def call(self, function: Callable[[], object], *, name: str) -> object:
        """
        Call the function in a thread that sees the caller's context variables.

        Raises:
            HandlerFailed: the function asked to end the process, as `sys.exit` does.
        """
        ended = start_thread(partial(contextvars.copy_context().run, _outcome, function), name=name)
        self._open.add(ended)
        ended.add_done_callback(self._open.discard)
        outcome = await see_through(ended)
        if isinstance(outcome.error, Exception):
            raise outcome.error
        if outcome.error is not None:
            raise HandlerFailed(f"the handler tried to end the process: {outcome.error!r}") from outcome.error
        return outcome.result

    def abandon(self) -> None:
        """End every open call as cancelled, whatever its thread still does."""
        for ended in tuple(self._open):
            ended.cancel()


def _outcome(function: Callable[[], object]) -> _Outcome:
    try:
        return _Outcome(result=function())
    except BaseException as error:  # noqa: BLE001  # Whatever is raised belongs to the caller, not to the thread.
        return _Outcome(error=error)
