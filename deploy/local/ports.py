"""Loopback ports for local servers."""

from __future__ import annotations

import random
import socket

# Below the range that systems hand out to outgoing connections: while a server is down
# nobody, not even a client knocking on its port, can be given the port as its own.
_CANDIDATES = range(20_000, 32_000)


def free_port() -> int:
    """Return a loopback port on which nothing listens now."""
    for port in random.sample(_CANDIDATES, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("100 ports tried and none is free")
