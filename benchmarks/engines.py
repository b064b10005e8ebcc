"""The engines that are measured, on servers of their own; every run begins with an empty database."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Final, Self

import asyncpg

from deploy.local.postgres import DURABLE, LocalPostgres, throwaway_postgres
from deploy.local.redis import LocalRedis, throwaway_redis

POSTGRES_SETTINGS: Final = {**DURABLE, "shared_buffers": "512MB"}
REDIS_SETTINGS: Final = {"appendonly": "yes", "appendfsync": "everysec"}


class Engine(StrEnum):
    """What carries a node."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"
    REDIS = "postgres+redis"


SERVERS: Final = (Engine.POSTGRES, Engine.REDIS)
"""The engines that many processes may share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An empty database, with its pipe if that is one of its own; `servers` are their first processes by name."""

    engine: Engine
    folder: Path
    database_url: str
    redis_url: str | None = None
    servers: Mapping[str, int] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a node here."""
        urls = {"database_url": self.database_url}
        return urls if self.redis_url is None else {**urls, "redis_url": self.redis_url}

    def written(self) -> str:
        """Word it for another process, which reads it by `read`."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def read(cls, text: str) -> Place:
        """Read what another process wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "engine": Engine(fields["engine"]), "folder": Path(fields["folder"])})


class Servers:
    """Servers that start when they are first asked for, and are gone at the end with all that they hold."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._numbers = count(1)
        self._postgres: LocalPostgres | None = None
        self._redis: LocalRedis | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def fresh(self, engine: Engine) -> Iterator[Place]:
        """Make an empty database and an empty pipe, gone at the end."""
        with tempfile.TemporaryDirectory(prefix="tocsin-benchmark-") as name, ExitStack() as stack:
            folder = Path(name)
            if engine is Engine.SQLITE:
                yield Place(engine=engine, folder=folder, database_url=f"sqlite:///{folder / 'benchmark.db'}")
                return
            url, servers = stack.enter_context(self._database()), {"postgres": self.postgres.pid}
            if engine is Engine.POSTGRES:
                yield Place(engine=engine, folder=folder, database_url=url, servers=servers)
                return
            self.redis.command("FLUSHALL")
            servers["redis"] = self.redis.pid
            yield Place(engine=engine, folder=folder, database_url=url, redis_url=self.redis.url, servers=servers)

    @property
    def postgres(self) -> LocalPostgres:
        """The PostgreSQL of all runs, as durable as a default installation."""
        if self._postgres is None:
            self._postgres = self._stack.enter_context(throwaway_postgres(settings=POSTGRES_SETTINGS))
        return self._postgres

    @property
    def redis(self) -> LocalRedis:
        """The Redis of all runs, which writes to disk each second."""
        if self._redis is None:
            self._redis = self._stack.enter_context(throwaway_redis())
            for name, value in REDIS_SETTINGS.items():
                self._redis.command("CONFIG", "SET", name, value)
        return self._redis

    @contextmanager
    def _database(self) -> Iterator[str]:
        name = f"benchmark_{next(self._numbers)}"
        asyncio.run(_execute(self.postgres.url(), f"CREATE DATABASE {name}"))
        try:
            yield self.postgres.url(name)
        finally:
            asyncio.run(_execute(self.postgres.url(), f"DROP DATABASE {name} WITH (FORCE)"))


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
