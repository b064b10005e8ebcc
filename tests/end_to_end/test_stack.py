from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.local.ports import free_port
from tests.end_to_end.waiting import DEADLINE_SECONDS, eventually, until
from tocsin.adapters.http import HttpScheduler

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that PostgreSQL's account can reach; those of pytest are closed to others."""
    made = Path(tempfile.mkdtemp(prefix="tocsin-stack-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def is_open(port: int) -> bool:
    with socket.socket() as knock:
        return knock.connect_ex(("127.0.0.1", port)) == 0


def words_of(text: str) -> dict[str, list[str]]:
    """The lines of the welcome, by their first word."""
    return {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}


async def test_the_stack_serves_three_nodes_brings_back_a_killed_one_and_leaves_nothing(folder: Path) -> None:
    ports = [free_port() for _ in range(3)]
    command = [sys.executable, "-m", "deploy.local.stack", "--folder", str(folder), "--ports", *map(str, ports)]
    output = folder / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=file, stderr=file)  # noqa: ASYNC220, S603 - the program under test
    try:

        async def welcomed() -> str | None:
            text = output.read_text("utf-8")
            assert process.poll() is None, text
            return text if "Ctrl-C" in text else None

        words = words_of(await eventually(welcomed))
        servers = [urlsplit(words[name][0]).port for name in ("PostgreSQL", "Redis")]
        async with HttpScheduler(f"http://127.0.0.1:{ports[1]}") as scheduler:

            async def live() -> set[str]:
                return {worker.name for worker in await scheduler.list_workers() if worker.status == "live"}

            async def all_live() -> bool:
                return await live() == {"node-1", "node-2", "node-3"}

            await until(all_live)
            os.kill(int(words["Nodes"][-1].strip("()")), signal.SIGKILL)

            async def said_to_be_back() -> bool:
                return "node-3 was killed" in output.read_text("utf-8") and is_open(ports[2])

            await until(said_to_be_back)

        process.send_signal(signal.SIGINT)
        code = await asyncio.to_thread(process.wait, DEADLINE_SECONDS)
    finally:
        process.kill()
        process.wait()

    assert code == 0, output.read_text("utf-8")
    assert not any(is_open(port) for port in [*ports, *servers] if port is not None)
