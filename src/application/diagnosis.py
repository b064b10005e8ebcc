"""What may be wrong with what a node stands on, and what to do about it: rules over what its engines tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from ..ports.conditions import LAPSED_FOR, DatabaseCondition, PipeCondition

SKEW_TOLERATED: Final = timedelta(seconds=2)
OLDEST: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType({"PostgreSQL": (14,), "Redis": (6, 2)})
"""The versions that are tested, and later ones."""

FULL: Final = 0.8
"""The share of what a server can hold from which on it is short of it."""

_MEBIBYTE: Final = 1024 * 1024


class Level(StrEnum):
    """How much a finding matters: nothing is wrong, good to know, will be trouble, is trouble."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found about one subject, and what to do about it unless nothing is to be done."""

    level: Level
    subject: str
    message: str
    advice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """
    What somebody's clock showed, and this machine's before it was asked and after it had answered.

    A clock that stands within the two of them is right, as far as can be told from here.
    """

    subject: str
    asked_at: datetime
    showed: datetime
    answered_at: datetime

    @property
    def skew(self) -> timedelta:
        """How far it is ahead of this machine's at least; negative if it is behind."""
        if self.showed > self.answered_at:
            return self.showed - self.answered_at
        return min(self.showed - self.asked_at, timedelta())


_AT_RISK: Final[Mapping[tuple[str, str], Finding]] = MappingProxyType(
    {
        ("in_recovery", "on"): Finding(
            level=Level.ERROR,
            subject="database",
            message="it is a standby, which cannot be written to",
            advice="name the primary in TOCSIN_DATABASE_URL, or both with target_session_attrs=read-write",
        ),
        ("fsync", "off"): Finding(
            level=Level.ERROR,
            subject="database",
            message="fsync is off: a crash of its machine may lose or damage all of it",
            advice="ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()",
        ),
        ("full_page_writes", "off"): Finding(
            level=Level.WARNING,
            subject="database",
            message="full_page_writes is off: a crash may leave pages torn, unless the file system cannot tear them",
            advice="ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()",
        ),
        ("synchronous_commit", "off"): Finding(
            level=Level.WARNING,
            subject="database",
            message="synchronous_commit is off: a crash may lose what it has just confirmed, such as a new job",
            advice="ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()",
        ),
    }
)
"""What a setting of a PostgreSQL means for what is written to it, by the setting and its value."""


def of_clocks(readings: Iterable[ClockReading]) -> Iterator[Finding]:
    """Hold the clocks of others against this machine's."""
    every = tuple(readings)
    wrong = [each for each in every if abs(each.skew) > SKEW_TOLERATED]
    if every and not wrong:
        names = ", ".join(each.subject for each in every)
        yield Finding(level=Level.OK, subject="clocks", message=f"this machine's agrees with those of {names}")
    for each in wrong:
        seconds = each.skew.total_seconds()
        yield Finding(
            level=Level.WARNING,
            subject="clocks",
            message=f"the clock of {each.subject} is {abs(seconds):.1f} s {'ahead of' if seconds > 0 else 'behind'} "
            "this machine's",
            advice="have NTP or chrony set both; jobs fire by the clock of the database",
        )


def of_database(database: DatabaseCondition, *, nodes: int, connections_each: int) -> Iterator[Finding]:
    """Look at a database that `nodes` use, each with up to so many connections."""
    yield Finding(level=Level.OK, subject="database", message=f"{database.engine} {database.version} answers")
    yield from _age(database.engine, database.version, "database")
    if database.engine == "PostgreSQL":
        yield from _durability(database.settings)
        yield from _capacity(database, nodes * connections_each)
    yield from _schema(database)
    if database.lapsed_leases:
        held = "1 execution is" if database.lapsed_leases == 1 else f"{database.lapsed_leases} executions are"
        yield Finding(
            level=Level.WARNING,
            subject="leases",
            message=f"{held} held although the lease ran out more than {LAPSED_FOR.total_seconds():.0f} s ago",
            advice="a live node with the role sweeper takes it back within seconds: start one, or look at its log",
        )


def of_pipe(pipe: PipeCondition) -> Iterator[Finding]:
    """Look at a Redis."""
    yield Finding(level=Level.OK, subject="redis", message=f"Redis {pipe.version} answers")
    yield from _age("Redis", pipe.version, "redis")
    if pipe.role != "master":
        yield Finding(
            level=Level.ERROR,
            subject="redis",
            message=f"it is a {pipe.role}, which cannot be written to",
            advice="name the master in TOCSIN_REDIS_URL, or its Sentinels with redis+sentinel://",
        )
    if pipe.memory_limit and pipe.eviction != "noeviction":
        yield Finding(
            level=Level.WARNING,
            subject="redis",
            message=f"it throws keys away when memory is short (maxmemory-policy {pipe.eviction})",
            advice="CONFIG SET maxmemory-policy noeviction; what is thrown away is dispatched again, but late",
        )
    if pipe.memory_limit and pipe.memory > FULL * pipe.memory_limit:
        yield Finding(
            level=Level.WARNING,
            subject="redis",
            message=f"{pipe.memory // _MEBIBYTE} of {pipe.memory_limit // _MEBIBYTE} MiB of its memory are used",
            advice="raise maxmemory, or see with `tocsin metrics` why work piles up",
        )


def _age(engine: str, version: str, subject: str) -> Iterator[Finding]:
    oldest = OLDEST.get(engine, ())
    if _numbers(version) < oldest:
        needed = ".".join(map(str, oldest))
        yield Finding(
            level=Level.ERROR,
            subject=subject,
            message=f"{engine} {version} is older than {needed}, the oldest that is supported",
            advice=f"upgrade {engine} to {needed} or later",
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Read the numbers that begin a version, such as 14 and 2 of `14.2` or 18 of `18beta1`."""
    numbers = []
    for part in version.split("."):
        digits = "".join(character if character.isdecimal() else " " for character in part).split(" ")[0]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def _durability(settings: Mapping[str, str]) -> Iterator[Finding]:
    return (finding for (setting, value), finding in _AT_RISK.items() if settings[setting] == value)


def _capacity(database: DatabaseCondition, needed: int) -> Iterator[Finding]:
    settings, taken = database.settings, database.connections or 0
    most = int(settings["max_connections"]) - int(settings["superuser_reserved_connections"])
    if needed > most:
        yield Finding(
            level=Level.WARNING,
            subject="database",
            message=f"the live nodes may open {needed} connections, and it takes {most}",
            advice="lower TOCSIN_DATABASE_CONNECTIONS, raise max_connections, or put a pooler before it "
            "(TOCSIN_DATABASE_POOLER)",
        )
    if taken > FULL * most:
        yield Finding(
            level=Level.WARNING,
            subject="database",
            message=f"{taken} of its {most} connections are taken",
            advice="SELECT * FROM pg_stat_activity shows by whom; raise max_connections or put a pooler before it",
        )


def _schema(database: DatabaseCondition) -> Iterator[Finding]:
    missing = [step for step in database.migrations if step.applied_at is None]
    if missing:
        names = ", ".join(f"{step.version}_{step.name}" for step in missing)
        yield Finding(
            level=Level.WARNING,
            subject="schema",
            message=f"the database lacks {len(missing)} of {len(database.migrations)} steps of the schema: {names}",
            advice="`tocsin migrate up` takes them, and so does the next node of this version that starts",
        )
    elif database.migrations:
        yield Finding(
            level=Level.OK, subject="schema", message=f"all {len(database.migrations)} steps of the schema are taken"
        )
