"""Which events of a batch are new, and which were there, or came in it, before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from ...domain.event import Event
from ...domain.resolution import Resolved
from ...ports.events import Fanned, Triggered

_Name = UUID | tuple[str, str]
"""What an event happens once by: its id, or its tenant and idempotency key."""


@dataclass(slots=True)
class Newness:
    """The entries of a batch that are new (`fresh`), and for every entry the event that came first under its names."""

    fresh: list[Resolved] = field(default_factory=list)
    _firsts: list[Event] = field(default_factory=list)
    _are_new: list[bool] = field(default_factory=list)

    @classmethod
    def of(cls, batch: Iterable[Resolved], stored: Iterable[Event]) -> Newness:
        """Hold a batch against what is stored, and against itself."""
        newness = cls()
        known: dict[_Name, Event] = {name: event for event in stored for name in _names(event)}
        for resolved in batch:
            event = resolved.event
            first = next((known[name] for name in _names(event) if name in known), None)
            newness._take(resolved, first)
            if first is None:
                known |= dict.fromkeys(_names(event), event)
        return newness

    def _take(self, resolved: Resolved, first: Event | None) -> None:
        if first is None:
            self.fresh.append(resolved)
        self._firsts.append(first or resolved.event)
        self._are_new.append(first is None)

    def answered(self, written: Sequence[Triggered]) -> list[Triggered]:
        """Answer the batch in its order, with the new ones as they were written."""
        by_id = {triggered.event.id: triggered.event for triggered in written}
        return [
            Triggered(event=by_id.get(first.id, first), is_duplicate=not is_new)
            for first, is_new in zip(self._firsts, self._are_new, strict=True)
        ]


def nothing_done(events: Sequence[Triggered] = ()) -> Fanned:
    """Answer a batch that did nothing."""
    return Fanned(events=events, dispatches=(), stopped=(), jobs=0)


def _names(event: Event) -> Iterator[_Name]:
    yield event.id
    if event.idempotency_key is not None:
        yield event.tenant_id, event.idempotency_key
