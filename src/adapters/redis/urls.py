"""From a URL to a client: one server, the master that Sentinels name, or a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import ReadOnlyError, RedisError

Client: TypeAlias = Redis | RedisCluster

_SENTINEL_PORT: Final = 26379
_PLAIN: Final = frozenset({"redis", "rediss", "unix"})
_CLUSTER: Final = frozenset({"redis+cluster", "rediss+cluster"})
_SENTINEL: Final = frozenset({"redis+sentinel", "rediss+sentinel"})


@asynccontextmanager
async def open_client(url: str, *, deadline: float) -> AsyncIterator[Client]:
    """
    Open a client, which connects when it is first used; no answer takes longer than `deadline` seconds.

    - One server: `redis://user:password@host:6379/0`, `rediss://` over TLS, `unix:///path?db=0`.
    - A cluster, by any of its nodes: `redis+cluster://user:password@host:6379`.
    - Sentinels and the name of their master: `redis+sentinel://user:password@host:26379,other:26379/name?db=0`. User
      and password are the master's; the query may hold `sentinel_username` and `sentinel_password`.

    Raises:
        ValueError: it is no such URL. The message does not repeat it, because it may hold a password.
    """
    client, *others = _clients(url, deadline)
    try:
        yield client
    finally:
        for each in (client, *others):
            # What does not close in time is left to the server.
            with suppress(RedisError, OSError, TimeoutError):
                async with asyncio.timeout(deadline):
                    await each.aclose()


def _clients(url: str, deadline: float) -> Sequence[Client]:
    """Make the client to use, and behind it those that it asks where its server is."""
    try:
        parts = urlsplit(url)
        if parts.scheme in _PLAIN:
            return [Redis.from_url(url, **_options(deadline))]
        if parts.scheme in _CLUSTER:
            return [RedisCluster.from_url(url.replace("+cluster", "", 1), **_options(deadline))]
        if parts.scheme in _SENTINEL:
            return _master(parts, deadline)
    except (ValueError, TypeError):
        # The cause is kept from the log as well: it may quote a part of the password.
        raise ValueError("the URL of Redis cannot be read") from None
    known = ", ".join(sorted(_PLAIN | _CLUSTER | _SENTINEL))
    raise ValueError(f"the URL of Redis must begin with one of {known}")


def _options(deadline: float) -> dict[str, Any]:
    return {
        "socket_timeout": deadline,
        "socket_connect_timeout": deadline,
        # One more try finds out that the connections of the pool died with a server that is back by now.
        "retry": Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), retries=1, supported_errors=(Disconnected,)),
        # A master that became a replica says so on every connection until it is asked for anew.
        "retry_on_error": [ReadOnlyError],
        "protocol": 2,
    }


def _master(parts: SplitResult, deadline: float) -> Sequence[Redis]:
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    name = parts.path.strip("/")
    if not name:
        raise ValueError("no name of a master")
    sentinel = Sentinel(  # type: ignore[no-untyped-call]  # redis-py has not typed it
        [_address(host) for host in hosts.split(",")],
        sentinel_kwargs=_options(deadline)
        | {option: query.get(f"sentinel_{option}") for option in ("username", "password")},
    )
    master = sentinel.master_for(
        name,
        db=int(query.get("db", "0")),
        username=unquote(username) or None,
        password=unquote(password) or None,
        ssl=parts.scheme.startswith("rediss"),
        **_options(deadline),
    )
    return [master, *sentinel.sentinels]


def _address(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if parts.hostname is None:
        raise ValueError("no host")
    return parts.hostname, parts.port or _SENTINEL_PORT
