"""What a node stands on, as its engines tell of themselves; whoever looks for trouble judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from .schema import MigrationStatus

LAPSED_FOR: Final = timedelta(seconds=30)
"""For how long a lease must have been over before it counts as one that nobody looks after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseCondition:
    """
    A database at one moment of its own clock, `now`; `version` is the engine's, as dotted numbers.

    `settings` are those that durability and capacity depend on, as the engine writes them. `connections` are all that
    the server has open, and None for a file. `lapsed_leases` counts executions whose lease has been over for longer
    than `LAPSED_FOR`; None without a schema.
    """

    engine: str
    version: str
    now: datetime
    settings: Mapping[str, str]
    migrations: Sequence[MigrationStatus]
    connections: int | None = None
    lapsed_leases: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeCondition:
    """A Redis at one moment of its own clock, `now`; memory is in bytes, and `memory_limit` is 0 without one."""

    version: str
    now: datetime
    role: str
    memory: int
    memory_limit: int
    eviction: str


class Conditions(Protocol):
    """
    What the settings name, looked at from where one is; nothing is changed or made.

    Raises (every method):
        StoreUnavailable, DispatcherUnavailable: it does not answer, or cannot be used by this version.
        InvalidInput: its URL is of no use.
    """

    @property
    def connections(self) -> int:
        """How many connections a node with these settings may open."""

    @property
    def unknown_variables(self) -> Sequence[str]:
        """Which variables look like settings and are none, sorted."""

    async def database(self) -> DatabaseCondition | None:
        """Look at the database; None if nothing names one and there is none in the default place."""

    async def pipe(self) -> PipeCondition | None:
        """Look at Redis; None if none is named."""
