"""Servers for the cases: one of each for all, because a case leaves them running, however it treated them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from deploy.local.postgres import LocalPostgres, throwaway_postgres
from deploy.local.redis import LocalRedis, throwaway_redis
from tests.faults.rig import Rig, rigged
from tests.faults.sizes import Size, size_from


@pytest.fixture(scope="session")
def faults_postgres() -> Iterator[LocalPostgres]:
    with throwaway_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def faults_redis() -> Iterator[LocalRedis]:
    with throwaway_redis() as server:
        yield server


@pytest.fixture(scope="session")
def size() -> Size:
    return size_from()


@pytest.fixture(params=["postgres", "redis"])
async def rig(
    request: pytest.FixtureRequest, tmp_path: Path, size: Size, faults_postgres: LocalPostgres
) -> AsyncIterator[Rig]:
    """PostgreSQL alone, and with Redis beside it."""
    redis = request.getfixturevalue("faults_redis") if request.param == "redis" else None
    async with rigged(size, tmp_path, faults_postgres, redis) as rig:
        yield rig


def only(engine: str) -> pytest.MarkDecorator:
    """Mark a case that one engine is enough for, or that needs it."""
    return pytest.mark.parametrize("rig", [engine], indirect=True)
