"""A node of its own with the handlers of the shop."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deploy.local.ports import free_port
from tests.dashboard import work

ROOT: Final = Path(__file__).parents[2]
START_SECONDS: Final = 60.0
GLANCE_SECONDS: Final = 0.05


@contextmanager
def serving(folder: Path, database: Path) -> Iterator[str]:
    """
    Run `tocsin serve` on a database until the context ends; give its address.

    Raises:
        RuntimeError: it ended, or took too long to be ready; tells its log.
    """
    url = f"http://127.0.0.1:{(port := free_port())}"
    settings = {
        "DATABASE_URL": f"sqlite:///{database}",
        "PORT": str(port),
        "HANDLERS": work.__name__,
        "WORKER_NAME": "till-1",
        "CONCURRENCY": "20",
    }
    environment = {f"TOCSIN_{name}": value for name, value in settings.items()} | {"PYTHONPATH": str(ROOT)}
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tocsin", "serve"],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _is_ready(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text())
            time.sleep(GLANCE_SECONDS)
        yield url
    finally:
        process.kill()
        process.wait()


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=5) as answer:  # noqa: S310 - our own URL
            return bool(answer.status == 200)
    except OSError:
        return False
