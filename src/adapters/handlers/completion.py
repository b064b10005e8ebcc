"""Waiting for work that cannot be stopped half-way, in a thread or elsewhere, to its very end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def see_through(work: Awaitable[T]) -> T:
    """Await `work` to its end even if the caller is cancelled meanwhile; the cancellation goes on afterwards."""
    future = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return future.result()


def start_thread(work: Callable[[], T], *, name: str) -> asyncio.Future[T]:
    """
    Run `work`, which must not raise, in a daemon thread of its own; the future ends with it.

    A thread pool would not do: the interpreter joins its threads at exit, so one stuck call would hold the node.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def settle(result: T) -> None:
        if not ended.done():
            ended.set_result(result)

    def main() -> None:
        result = work()
        with suppress(RuntimeError):  # The loop may have closed while the thread was at work.
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=main, name=name, daemon=True).start()
    return ended
