"""The table of events, with what of them waits for event handlers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from uuid import UUID

from ...domain.event import Event
from ...domain.flow import FlowState, Gathering
from ...domain.resolution import FlowKey, Held


class EventRows:
    """Events by id and by key; `flows` holds each open gathering as it stands, `gatherings` all that wait."""

    def __init__(self) -> None:
        self._rows: dict[UUID, Event] = {}
        self._keys: dict[tuple[str, str], UUID] = {}
        self.flows: dict[FlowKey, FlowState] = {}
        self.gatherings: dict[UUID, Held] = {}

    def __iter__(self) -> Iterator[Event]:
        return iter(self._rows.values())

    def get(self, event_id: UUID) -> Event | None:
        """Find an event."""
        return self._rows.get(event_id)

    def known(self, event: Event) -> Event | None:
        """Find the event that was stored under the same id, or under the same key of the tenant."""
        if event.id in self._rows or event.idempotency_key is None:
            return self._rows.get(event.id)
        found = self._keys.get((event.tenant_id, event.idempotency_key))
        return None if found is None else self._rows[found]

    def put(self, event: Event) -> None:
        """Insert or replace an event."""
        self._rows[event.id] = event
        if event.idempotency_key is not None:
            self._keys[event.tenant_id, event.idempotency_key] = event.id

    def remove(self, event: Event) -> None:
        """Forget an event."""
        del self._rows[event.id]
        if event.idempotency_key is not None:
            del self._keys[event.tenant_id, event.idempotency_key]

    def is_unchanged(self, gathering: Gathering) -> bool:
        """Tell whether a gathering still stands as it is given."""
        held = self.gatherings.get(gathering.id)
        return held is not None and held.gathering == gathering

    def close(self, gathering_ids: Iterable[UUID]) -> None:
        """Forget gatherings, also as the open ones of their keys."""
        for gathering_id in gathering_ids:
            held = self.gatherings.pop(gathering_id)
            key = held.handler_id, held.flow_key
            state = self.flows.get(key, FlowState())
            if state.gathering is not None and state.gathering.id == gathering_id:
                self.flows[key] = replace(state, gathering=None)

    def drop_handler(self, handler_id: UUID) -> None:
        """Forget the keys and gatherings of an event handler."""
        self.flows = {key: state for key, state in self.flows.items() if key[0] != handler_id}
        self.gatherings = {id_: held for id_, held in self.gatherings.items() if held.handler_id != handler_id}

    def purge(self, *, before: datetime, now: datetime, limit: int) -> int:
        """Forget the oldest events that no gathering holds, and keys that say nothing any more."""
        kept = {event_id for held in self.gatherings.values() for event_id in held.gathering.event_ids}
        past = (event for event in self if event.received_at < before and event.id not in kept)
        old = sorted((event.received_at, event.id) for event in past)[:limit]
        for _, event_id in old:
            self.remove(self._rows[event_id])
        silent = (key for key, state in self.flows.items() if _says_nothing(state, now))
        for key in list(islice(silent, limit)):
            del self.flows[key]
        return len(old)


def _says_nothing(state: FlowState, now: datetime) -> bool:
    ends = (state.seen_until, state.rate_limit_at, state.throttle_at)
    return state.gathering is None and all(end is None or end <= now for end in ends)
