from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from tocsin.adapters.handlers.threads import Threads
from tocsin.domain.errors import HandlerFailed

WHO = contextvars.ContextVar("who", default="nobody")


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_call_runs_in_a_daemon_thread_that_sees_the_context() -> None:
    WHO.set("caller")

    def work() -> tuple[str, str, bool]:
        thread = threading.current_thread()
        return WHO.get(), thread.name, thread.daemon

    assert await Threads().call(work, name="tocsin work") == ("caller", "tocsin work", True)


async def test_an_error_is_the_callers() -> None:
    error = KeyError("mine")

    def work() -> None:
        raise error

    with pytest.raises(KeyError) as raised:
        await Threads().call(work, name="work")

    assert raised.value is error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_what_would_end_a_process_or_a_task_is_a_failure(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(HandlerFailed, match="end the process"):
        await Threads().call(work, name="work")


async def test_a_cancelled_call_stays_open_until_its_thread_has_ended() -> None:
    started, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        release.wait()

    call = asyncio.create_task(Threads().call(work, name="work"))
    await started.wait()
    for _ in range(2):
        call.cancel()
        await turns()
    still_open = not call.done()
    release.set()
    await asyncio.wait([call], timeout=5)

    assert still_open
    assert call.cancelled()


async def test_a_timeout_is_seen_once_the_thread_has_ended() -> None:
    release = threading.Event()
    asyncio.get_running_loop().call_later(0.05, release.set)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Threads().call(release.wait, name="work")

    assert release.is_set()


async def test_abandoning_ends_calls_whose_threads_go_on() -> None:
    threads, started, release = Threads(), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        release.wait()

    call = asyncio.create_task(threads.call(work, name="work"))
    await started.wait()
    threads.abandon()
    await asyncio.wait([call], timeout=5)
    release.set()

    assert call.cancelled()


STUCK = """
import asyncio, threading
from tocsin.adapters.handlers.threads import Threads

async def main():
    threads, started = Threads(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work():
        loop.call_soon_threadsafe(started.set)
        threading.Event().wait()

    asyncio.ensure_future(threads.call(work, name="stuck"))
    await started.wait()
    threads.abandon()

asyncio.run(main())
"""


def test_a_stuck_thread_does_not_hold_the_process() -> None:
    assert subprocess.run([sys.executable, "-c", STUCK], check=False, timeout=30).returncode == 0  # noqa: S603  # Our own code.
