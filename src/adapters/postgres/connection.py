"""How the server is reached, and what its errors mean to others."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ECONNREFUSED
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import parse_qs, urlsplit

import asyncpg

from ...domain.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

TOO_LATE: Final = "the database did not answer in time"

_OUT_OF_REACH: Final = "the database is out of reach"
_REASONS: Final[Mapping[type[Exception], str]] = MappingProxyType(
    {
        asyncpg.InvalidPasswordError: "the database refused the user name or password",
        asyncpg.InvalidAuthorizationSpecificationError: "the database refused the user name or password",
        asyncpg.InvalidCatalogNameError: "the server has no such database",
        asyncpg.TooManyConnectionsError: "the database takes no more connections",
        asyncpg.ReadOnlySQLTransactionError: "the database can only be read",
        asyncpg.QueryCanceledError: TOO_LATE,
        asyncpg.LockNotAvailableError: TOO_LATE,
        asyncpg.IdleInTransactionSessionTimeoutError: TOO_LATE,
        asyncpg.InsufficientResourcesError: "the server ran out of memory, disk or connections",
        asyncpg.InsufficientPrivilegeError: "the user may not do this in the database",
        asyncpg.UndefinedTableError: "the schema is missing; run `tocsin migrate up`",
        asyncpg.OperatorInterventionError: _OUT_OF_REACH,
        asyncpg.PostgresConnectionError: _OUT_OF_REACH,
        asyncpg.PostgresSystemError: "the server failed to read or write",
        asyncpg.InterfaceError: _OUT_OF_REACH,
        asyncpg.InternalClientError: _OUT_OF_REACH,
        TimeoutError: TOO_LATE,
        OSError: _OUT_OF_REACH,
    }
)
"""What callers are told; what the driver said, which may name hosts and users, stays the cause and is for the log."""

_AWAY: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
)
"""What may pass by itself, if it is what keeps from connecting."""

_UNTRANSLATABLE: Final = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError)

SCHEMA: Final = "tocsin"
"""Where the tables are, so that the database may be another program's too."""

_SETTINGS: Final = MappingProxyType(
    {
        "application_name": "tocsin",
        "search_path": SCHEMA,
        "timezone": "UTC",
        # A generic plan, which the server turns to on a sixth run, knows no sizes of arrays: some took 10 times longer.
        "plan_cache_mode": "force_custom_plan",
        # That is: never. The driver turns `jit` itself off and on again, for the session, and would leave it off here.
        "jit_above_cost": "-1",
        # Else a statement whose client is gone holds its locks until it ends; in milliseconds.
        "client_connection_check_interval": "500",
    }
)


class Unreachable(StoreUnavailable):
    """The server is not there, or not yet; who starts a node may wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """
    Where the server is and how it may be used.

    With `pooler` a pgbouncer in transaction mode may stand between: nothing then outlasts a transaction, so that
    there are no prepared statements, no session settings and no LISTEN. `deadline` is in seconds, for one call.
    """

    url: str
    pooler: bool = False
    connections: int = 10
    deadline: float = 10.0

    @property
    def preamble(self) -> str:
        """What a transaction sets for itself, in the round trip that begins it, where its session cannot."""
        if not self.pooler:
            return ""
        return "".join(f"; SET LOCAL {name} = '{value}'" for name, value in self._settings.items())

    async def pool(self) -> Pool:
        """Make the pool; connections are made when they are first needed, and made again when they were lost."""
        return await asyncpg.create_pool(
            self.url,
            min_size=0,
            max_size=self.connections,
            connect=cast("Any", _connect),
            reset=_leave_as_it_is,
            **self._options(),
        )

    async def connect(self) -> asyncpg.Connection[asyncpg.Record]:
        """
        Open a connection beside the pool.

        Raises:
            InvalidInput: the URL cannot be read.
            Unreachable: the server is not there, or not ready; the message names its hosts.
            StoreUnavailable: the server refuses who asks, or what is asked of it.
        """
        try:
            with translated():
                return await _connect(self.url, **self._options())
        except StoreUnavailable as error:
            raise _refusal(self.url, error) from error.__cause__

    def _options(self) -> dict[str, Any]:
        return {
            "timeout": self.deadline,
            "statement_cache_size": 0 if self.pooler else 256,
            "server_settings": {} if self.pooler else self._settings,
        }

    @property
    def _settings(self) -> dict[str, str]:
        """
        What holds for every statement; limits as well, so that the server gives up soon after its client did.

        A transaction asks for one thing after the other: what is silent in between is frozen or cut off, and others
        wait for its locks.
        """
        return {
            **_SETTINGS,
            "statement_timeout": str(int(self.deadline * 1000)),
            "idle_in_transaction_session_timeout": str(int(self.deadline * 500)),
        }


@contextmanager
def translated() -> Generator[None]:
    """
    Word what goes wrong between here and the server as StoreUnavailable; a mistake of ours stays what it is.

    Raises:
        InvalidInput: a text holds what no store keeps (`domain.definition.check_text`).
        StoreUnavailable: the server is out of reach, or does not answer in time.
    """
    try:
        yield
    except asyncpg.DataError as error:
        # The server words it as one of these, and the driver, which encodes texts, as the base of them.
        if isinstance(error, _UNTRANSLATABLE) or isinstance(error.__cause__, UnicodeError):
            raise InvalidInput.of("text", "must not contain NUL or lone surrogate characters") from error
        raise
    except tuple(_REASONS) as error:
        raise StoreUnavailable(_reason(error)) from error


async def _connect(url: str, **options: Any) -> asyncpg.Connection[asyncpg.Record]:  # noqa: ANN401 - the driver's own
    """Open a connection, telling what is wrong with the URL from what is wrong with the server."""
    try:
        return await asyncpg.connect(url, **options)
    except (ValueError, OverflowError) as error:
        # Who the server says that it is, is not the URL's fault.
        if isinstance(error, OSError):
            raise
        # The cause is kept from the log as well: it may quote a part of the password.
        raise InvalidInput.of("database_url", "cannot be read; percent-encode what is special in it") from None


async def _leave_as_it_is(connection: object) -> None:
    """Return a connection to the pool as it is, in no round trip: no transaction here leaves anything behind."""


def _refusal(url: str, error: StoreUnavailable) -> StoreUnavailable:
    """Word for who runs a node why there is no connection: the hosts, never who logs in, and the kind of the cause."""
    cause = error.__cause__
    if isinstance(cause, asyncpg.ProtocolViolationError) and "startup parameter" in str(cause):
        hint = "a pooler seems to stand there; set TOCSIN_DATABASE_POOLER=true"
        return StoreUnavailable(f"{error} as it is asked for ({_hosts(url)}: {hint})")
    kind = _kind(cause)
    message = f"{error} ({_hosts(url)}{kind and f': {kind}'})"
    waiting_helps = isinstance(cause, _AWAY) and not isinstance(cause, ssl.SSLError)
    return Unreachable(message) if waiting_helps else StoreUnavailable(message)


def _hosts(url: str) -> str:
    """Name the hosts of a URL with their ports."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    hosts = parts.netloc.rpartition("@")[2] or query.get("host", ["the default host"])[-1]
    port = query.get("port", [os.environ.get("PGPORT") or "5432"])[-1]
    return ", ".join(host if host.rpartition("]")[2].count(":") else f"{host}:{port}" for host in hosts.split(","))


def _kind(cause: BaseException | None) -> str:
    if isinstance(cause, socket.gaierror):
        return "no such host"
    if isinstance(cause, ssl.SSLError):
        return "TLS failed"
    if isinstance(cause, asyncpg.CannotConnectNowError):
        return "it is starting or stopping"
    if not isinstance(cause, OSError):
        return ""
    if cause.errno is None and f"[Errno {ECONNREFUSED}]" in str(cause):
        # Of a host with several addresses, each has its own error.
        return os.strerror(ECONNREFUSED).lower()
    return os.strerror(cause.errno).lower() if cause.errno else ""


def _reason(error: Exception) -> str:
    return next(reason for kind, reason in _REASONS.items() if isinstance(error, kind))
