"""Where things lie in Redis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ...domain.bands import URGENT_FIRST, Band

GROUP: Final = "executors"
"""The one group of every stream of the pipe, so what it is past nobody needs."""

NODES: Final = "nodes"
"""The one group that reads events."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What waits for one capability in one band."""

    key: str
    band: Band
    capability: str


def keys_of(streams: Iterable[Stream]) -> list[str]:
    """Name streams as Redis knows them."""
    return [stream.key for stream in streams]


@dataclass(frozen=True, slots=True)
class Keys:
    """
    The keys under one prefix, which separates those who share a server.

    The prefix is the hash tag of every key of the pipe. So a cluster keeps all streams of a prefix in one slot, where
    one blocking read and one script can reach them all; a tag for each stream would cost a node one connection for each
    slot that it waits on. One server carries far more ids than the store behind it can claim.
    """

    prefix: str

    def __post_init__(self) -> None:
        """Refuse a prefix that would not be the hash tag."""
        if not self.prefix or {"{", "}"} & set(self.prefix):
            raise ValueError(f"a prefix of keys needs at least one character and no braces, not {self.prefix!r}")

    @property
    def unreadable(self) -> str:
        """The stream of entries that nobody could read."""
        return f"{{{self.prefix}}}:unreadable"

    @property
    def events(self) -> str:
        """The stream that anybody may add events to; as it is written down, since others must name it too."""
        return f"{self.prefix}:events"

    @property
    def dead_events(self) -> str:
        """The stream of entries of `events` that came to nothing."""
        return f"{self.prefix}:events:dead"

    @property
    def facts(self) -> str:
        """The stream of events that Tocsin lets out."""
        return f"{self.prefix}:facts"

    def stream(self, band: Band, capability: str) -> Stream:
        """Name the stream of a band and a capability."""
        return Stream(f"{{{self.prefix}}}:dispatch:{band.name.lower()}:{capability}", band, capability)

    def streams(self, capabilities: Collection[str], *, first: int = 0) -> Sequence[Stream]:
        """List the streams of capabilities, urgent bands first; `first` says with which capability each band begins."""
        names = sorted(capabilities)
        start = first % len(names) if names else 0
        return [*self._in_bands([*names[start:], *names[:start]])]

    def _in_bands(self, names: Sequence[str]) -> Iterator[Stream]:
        for band in URGENT_FIRST:
            yield from (self.stream(band, name) for name in names)
