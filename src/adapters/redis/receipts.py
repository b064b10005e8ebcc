"""What this process was given and has not acknowledged: under which ids it lies in the streams."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from ...ports.dispatcher import Dispatch
from .entries import Entry

_Key: TypeAlias = tuple[UUID, str]


@dataclass(slots=True)
class Receipts:
    """The entries behind each received dispatch: several, if it was handed on more than once."""

    _entries: OrderedDict[_Key, tuple[float, list[Entry]]] = field(default_factory=OrderedDict, init=False)

    def add(self, dispatch: Dispatch, entry: Entry, now: float) -> None:
        """Keep an entry received at `now`, in seconds."""
        key = dispatch.execution_id, dispatch.capability
        _, entries = self._entries.pop(key, (now, []))
        self._entries[key] = now, [*entries, entry]

    def take(self, dispatch: Dispatch) -> list[Entry]:
        """Give out the entries of a dispatch, once."""
        _, entries = self._entries.pop((dispatch.execution_id, dispatch.capability), (0.0, []))
        return entries

    def forget(self, before: float) -> None:
        """Let go of what was received before that time: it has gone to somebody else since."""
        while self._entries and next(iter(self._entries.values()))[0] < before:
            self._entries.popitem(last=False)
