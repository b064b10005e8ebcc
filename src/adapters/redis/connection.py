"""How Redis is called: never longer than a deadline, never over many connections, and not while it is down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeVar

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    MaxConnectionsError,
    OutOfMemoryError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import TimeoutError as TooLate

from ...domain.errors import DispatcherUnavailable
from .scripts import script
from .urls import Client

T = TypeVar("T")

MOST_CONNECTIONS: Final = 16
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0

_CLOSED: Final = "the handler is closed"
"""How uvloop says, with a RuntimeError, that a connection was lost before it was written to."""

_REFUSED: Final = "Redis refused the user name or password"
_TOO_LATE: Final = "Redis did not answer in time"
_OUT_OF_REACH: Final = "Redis is out of reach"
_REASONS: Final[Mapping[type[Exception], str]] = MappingProxyType(
    {
        AuthenticationError: _REFUSED,
        AuthorizationError: _REFUSED,
        BusyLoadingError: "Redis is still loading its data",
        MaxConnectionsError: "Redis takes no more connections",
        TooLate: _TOO_LATE,
        TimeoutError: _TOO_LATE,
        Disconnected: _OUT_OF_REACH,
        OSError: _OUT_OF_REACH,
        RuntimeError: _OUT_OF_REACH,
        RedisError: "Redis did not answer as it should",
    }
)
"""What callers are told, the first that fits; what redis-py said, which may name hosts, stays the cause."""


class Connection:
    """
    A client whose every call ends within `deadline` seconds.

    After a call that got no answer, others fail at once for a while, which doubles up to a second, and then one of
    them finds out: whoever commits work and hands it on must not wait for a dead pipe each time.
    """

    def __init__(self, client: Client, *, deadline: float) -> None:
        self._client = client
        self._deadline = deadline
        self._slots = asyncio.Semaphore(MOST_CONNECTIONS)
        self._pause = FIRST_PAUSE
        self._resting_until = 0.0
        self._reason = ""

    @property
    def longest_block(self) -> float:
        """How many seconds a blocking command may wait, so that a dead server is told from a quiet one."""
        return self._deadline / 2

    async def run(self, work: Callable[[Client], Awaitable[T]], *, patience: float = 0) -> T:
        """
        Work with the client, for at most the deadline and `patience` seconds more.

        Raises:
            DispatcherUnavailable: no answer, or a refusal; what was sent may have been done.
        """
        if time.monotonic() < self._resting_until:
            raise DispatcherUnavailable(f"{self._reason} a moment ago, and it is left alone until it may")
        if self._pause > FIRST_PAUSE:
            self._resting_until = time.monotonic() + self._deadline + patience
        try:
            async with asyncio.timeout(self._deadline + patience), self._slots:
                answer = await work(self._client)
        except ResponseError as error:
            self._go_on()
            raise DispatcherUnavailable(f"Redis refused a command: {_kind(error)}") from error
        except (RedisError, RedisClusterException, OSError, TimeoutError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and _CLOSED not in str(error):
                raise
            self._rest()
            self._reason = _reason(error)
            raise DispatcherUnavailable(self._reason) from error
        self._go_on()
        return answer

    # What a script answers is as the script says.
    async def script(self, name: str, keys: Sequence[str], *arguments: str | bytes | int) -> Any:  # noqa: ANN401
        """
        Run a script over these keys. Its text goes along: a server that was restarted empty knows no other name.

        Raises:
            DispatcherUnavailable: as for `run`.
        """
        return await self.run(lambda client: client.execute_command("EVAL", script(name), len(keys), *keys, *arguments))

    def _go_on(self) -> None:
        self._resting_until, self._pause = 0.0, FIRST_PAUSE

    def _rest(self) -> None:
        self._resting_until = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def _reason(error: Exception) -> str:
    # A cluster of which no node answers keeps why behind an error of its own.
    cause = error.__cause__ if isinstance(error, RedisClusterException) else error
    return next((reason for kind, reason in _REASONS.items() if isinstance(cause, kind)), _OUT_OF_REACH)


def _kind(error: ResponseError) -> str:
    """Take the code that begins a refusal; around it redis-py and the server may quote what was sent."""
    # Of this one redis-py keeps the code as a class alone.
    if isinstance(error, OutOfMemoryError):
        return "OOM"
    words = str(error).rpartition("caused error: ")[2].strip("('\"").split(maxsplit=1)
    return words[0] if words else type(error).__name__
