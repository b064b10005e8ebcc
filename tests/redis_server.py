"""
The Redis of the tests: one for the whole session, each test under a prefix of its own.

`LOCAL_REDIS` names another, or a Valkey (`deploy.local.redis`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.local.redis import LocalRedis, throwaway_redis


@pytest.fixture(scope="session")
def redis_server() -> Iterator[LocalRedis]:
    """A server that nobody may stop, pause or flush."""
    with throwaway_redis() as server:
        yield server


@pytest.fixture
def own_redis() -> Iterator[LocalRedis]:
    """A server that the test may do anything to."""
    with throwaway_redis() as server:
        yield server
