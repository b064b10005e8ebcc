"""What one entry of a stream says, and what an answer of Redis says about entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from ...ports.dispatcher import Dispatch
from .keys import Stream

Fields: TypeAlias = Mapping[bytes, bytes]

_EXECUTION: Final = b"execution"
_PRIORITY: Final = b"priority"

Position: TypeAlias = tuple[int, int]
"""An entry's id as Redis orders it: milliseconds of the server's clock, and a number within them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it lies in a stream, whoever wrote it."""

    stream: Stream
    id: bytes
    fields: Fields

    @property
    def position(self) -> Position:
        """Where it lies in its stream."""
        return read_position(self.id)


def write(dispatch: Dispatch) -> Fields:
    """Word a dispatch as fields; its stream tells the capability."""
    return {_EXECUTION: str(dispatch.execution_id).encode(), _PRIORITY: str(dispatch.priority).encode()}


def read(entry: Entry) -> Dispatch:
    """
    Read an entry back.

    Raises:
        KeyError, ValueError: a field is missing, or is not what it should be.
    """
    return Dispatch(
        execution_id=UUID(entry.fields[_EXECUTION].decode()),
        capability=entry.stream.capability,
        priority=int(entry.fields[_PRIORITY]),
    )


def read_position(entry_id: bytes) -> Position:
    """Read an id of Redis, such as 1700000000000-3."""
    milliseconds, _, number = entry_id.partition(b"-")
    return int(milliseconds), int(number)


def from_script(streams: Sequence[Stream], found: Iterable[tuple[int, bytes, Sequence[bytes]]]) -> list[Entry]:
    """Read what a script found: the number of the key among those it was given, the entry's id, names and values."""
    return [Entry(streams[key - 1], entry_id, _named(fields)) for key, entry_id, fields in found]


def execution_ids(carried: Iterable[Sequence[bytes]]) -> frozenset[bytes]:
    """Collect the ids, as text, that entries given as names and values are about."""
    return frozenset(_named(fields).get(_EXECUTION, b"") for fields in carried)


def _named(fields: Sequence[bytes]) -> Fields:
    return dict(zip(fields[::2], fields[1::2], strict=True))
