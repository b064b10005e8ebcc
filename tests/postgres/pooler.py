"""A pgbouncer in transaction mode, where the machine has one or `LOCAL_POOLER` names its program."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from deploy.local.ports import free_port
from deploy.local.postgres_programs import account

CHOICE: Final = "LOCAL_POOLER"

# Some systems keep it where only root looks.
_PATH: Final = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
PROGRAM: Final = os.environ.get(CHOICE) or shutil.which("pgbouncer", path=_PATH)
PATIENCE = 30.0

_SETTINGS = """
[databases]
* = host={host} port={port} user={user}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
"""


@contextmanager
def a_pooler(url: str, *, connections: int) -> Iterator[str]:
    """Run a pooler with this many connections to the server of `url`; give the URL of the same database through it."""
    if PROGRAM is None:
        # Where nobody looks, a test that is skipped would go unnoticed.
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("this machine has no pgbouncer")
    target, port = urlsplit(url), free_port()
    with tempfile.TemporaryDirectory(prefix="tocsin-pooler-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                host=target.hostname, port=target.port, user=target.username, own_port=port, connections=connections
            ),
            "utf-8",
        )
        runs_as = account()
        with subprocess.Popen(  # noqa: S603 - the machine's own program, the settings above
            [PROGRAM, settings],
            user=runs_as.user,
            group=runs_as.group,
            extra_groups=runs_as.other_groups,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                _await(port)
                yield target._replace(netloc=f"{target.username}@127.0.0.1:{port}").geturl()
            finally:
                process.kill()


def _await(port: int) -> None:
    gives_up_at = time.monotonic() + PATIENCE
    while True:
        try:
            with closing(socket.create_connection(("127.0.0.1", port))):
                return
        except ConnectionRefusedError:
            if time.monotonic() > gives_up_at:
                raise
            time.sleep(0.02)
