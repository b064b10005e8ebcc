"""Pipes and streams of events over the server of the session, and over one that a test may break."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from deploy.local.redis import LocalRedis
from tests.redis.event_streams import Streams, streams_over
from tests.redis.pipes import Pipes, pipes_over


@pytest.fixture
async def pipes(redis_server: LocalRedis) -> AsyncIterator[Pipes]:
    async with pipes_over(redis_server.url) as opened:
        yield opened


@pytest.fixture
async def brittle(own_redis: LocalRedis) -> AsyncIterator[Pipes]:
    async with pipes_over(own_redis.url) as opened:
        yield opened


@pytest.fixture
async def streams(redis_server: LocalRedis) -> AsyncIterator[Streams]:
    async with streams_over(redis_server.url) as opened:
        yield opened


@pytest.fixture
async def brittle_streams(own_redis: LocalRedis) -> AsyncIterator[Streams]:
    async with streams_over(own_redis.url) as opened:
        yield opened
