"""
The schema as numbered steps, the same for every engine: what a version knows against what a database has taken.

A step is a pair of files, `migrations/NNNN_words.up.sql` and `.down.sql`, and never changes once released. Nodes
are upgraded one by one, so that a node of the version before goes on working on the schema after a step. Whoever
writes one therefore expands first, and contracts one version later:

- add tables, columns that are nullable or have a default, indexes, and values that a CHECK allows: the version
  before neither names nor misses them;
- remove, rename or narrow only what the version before does not use any more.

A step that cannot keep to this says so on a line of its own, in the comment that opens the way up:
`-- compatible: no`, and nodes of older versions then refuse the schema instead of damaging it. What a step says is
recorded with it, because an older version has no file to read it from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

_FILE: Final = re.compile(r"(?P<version>\d{4})_(?P<name>\w+)\.up\.sql")
_INCOMPATIBLE: Final = re.compile(r"(?:--.*\n)*-- compatible: no\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step as SQL, with the way back; `checksum` is the SHA-256 of the way up, as 64 hexadecimal digits."""

    version: int
    name: str
    up: str
    down: str

    @property
    def checksum(self) -> str:
        """Tell this text from an edited one."""
        return sha256(self.up.encode()).hexdigest()

    @property
    def compatible(self) -> bool:
        """Tell whether the version before may go on after it; so it is unless the opening comment says no."""
        return _INCOMPATIBLE.match(self.up) is None

    def taken(self, applied_at: datetime | None) -> MigrationStatus:
        """Say when a database took it; None if it did not."""
        return MigrationStatus(
            version=self.version,
            name=self.name,
            checksum=self.checksum,
            applied_at=applied_at,
            compatible=self.compatible,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationStatus:
    """
    One step as a database has it, a row of `schema_migrations`; `applied_at` is None while it does not.

    `compatible` says whether versions that do not know the step may use the schema.
    """

    version: int
    name: str
    checksum: str
    applied_at: datetime | None
    compatible: bool = True


@cache
def migrations_of(package: str) -> Sequence[Migration]:
    """Read every step in the folder `migrations` of a package, oldest first."""
    folder = files(package).joinpath("migrations")
    found = (_FILE.fullmatch(entry.name) for entry in folder.iterdir())
    return tuple(
        Migration(
            version=int(match["version"]),
            name=match["name"],
            up=folder.joinpath(match[0]).read_text("utf-8"),
            down=folder.joinpath(match[0].replace(".up.", ".down.")).read_text("utf-8"),
        )
        for match in sorted((match for match in found if match), key=lambda match: match[0])
    )


def refusal(known: Sequence[Migration], taken: Sequence[MigrationStatus]) -> str | None:
    """
    Say why this version must leave a schema alone, in words that follow "cannot be used as the database:".

    `taken` lists the rows of `schema_migrations`, oldest first. None if it may go on: what was taken are the
    first of the known steps, unchanged, or all of them and then unknown ones that are all compatible.
    """
    for row, step in zip(taken, known, strict=False):
        if row.version != step.version:
            return _gap(row, step, newest=known[-1].version)
        if row.checksum != step.checksum:
            return f"its schema step {_named(row)} is not the one this version knows"
    return next((_newer(row) for row in taken[len(known) :] if not row.compatible), None)


def statuses(known: Sequence[Migration], taken: Sequence[MigrationStatus]) -> Sequence[MigrationStatus]:
    """List the known steps, taken or not, and then those taken that only a newer version knows."""
    applied = {row.version: row.applied_at for row in taken}
    return [*(step.taken(applied.get(step.version)) for step in known), *taken[len(known) :]]


def steps_up(known: Sequence[Migration], taken: Sequence[MigrationStatus], to: int | None) -> Sequence[Migration]:
    """List what is left to take up to version `to`, or all, in the order of taking."""
    return [step for step in known[len(taken) :] if to is None or step.version <= to]


def steps_down(known: Sequence[Migration], taken: Sequence[MigrationStatus], to: int) -> Sequence[Migration]:
    """List the steps to undo so that `to` is the newest left (0: none), in the order of undoing."""
    return [step for step in reversed(known[: len(taken)]) if step.version > to]


def refusal_down(known: Sequence[Migration], taken: Sequence[MigrationStatus]) -> str | None:
    """Say why steps cannot be undone: those above them must go first, and an unknown one has no known way back."""
    return refusal(known, taken) or next((_newer(row) for row in taken[len(known) :]), None)


def _gap(row: MigrationStatus, step: Migration, *, newest: int) -> str:
    return _newer(row) if row.version > newest else f"its schema has step {_named(row)} but not {step.version}"


def _newer(row: MigrationStatus) -> str:
    return f"a newer version of Tocsin wrote it (schema {_named(row)})"


def _named(row: MigrationStatus) -> str:
    return f"{row.version}_{row.name}"
