"""How the flow control of an event handler lets one event of a key through, drops it, or keeps it for later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from .flow import Batch, Debounce, FlowControl, FlowState, Gathering, Rate

THROTTLE_LIMIT: Final = timedelta(days=7)
"""How long a throttle delays an event at most; what would wait longer is dropped, and says so."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The handler acts now."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The handler never acts upon this event: `reason` names the limit."""

    reason: str


Verdict: TypeAlias = Admitted | Dropped | Gathering


def admit(
    flow: FlowControl, state: FlowState, event_id: UUID, *, now: datetime, new_id: UUID
) -> tuple[FlowState, Verdict]:
    """
    Decide about one event of a key at the store's now; `new_id` is for a gathering that begins with it.

    What is dropped takes nothing from what comes after it. What is remembered never reaches further than the limits as
    they are now could have it reach, so that neither a clock that was set back nor limits that were another keep events
    away for long.
    """
    state = _bounded(flow, state, now)
    after, verdict = _admit(flow, state, event_id, now=now, new_id=new_id)
    return (state if isinstance(verdict, Dropped) else after), verdict


def _bounded(flow: FlowControl, state: FlowState, now: datetime) -> FlowState:
    if flow.dedupe_seconds is not None:
        latest = now + timedelta(seconds=flow.dedupe_seconds)
        state = replace(state, seen_until=_at_most(state.seen_until, latest))
    if flow.rate_limit is not None:
        latest = now + _window(flow.rate_limit)
        state = replace(state, rate_limit_at=_at_most(state.rate_limit_at, latest))
    if flow.throttle is not None:
        # Nearer than this it may be the end of a queue that waits.
        latest = now + THROTTLE_LIMIT + _window(flow.throttle)
        state = replace(state, throttle_at=_at_most(state.throttle_at, latest))
    return state


def _at_most(instant: datetime | None, latest: datetime) -> datetime | None:
    return None if instant is None else min(instant, latest)


def _admit(
    flow: FlowControl, state: FlowState, event_id: UUID, *, now: datetime, new_id: UUID
) -> tuple[FlowState, Verdict]:
    if flow.dedupe_seconds is not None:
        if state.seen_until is not None and state.seen_until > now:
            return state, Dropped("dedupe")
        state = replace(state, seen_until=now + timedelta(seconds=flow.dedupe_seconds))
    if flow.rate_limit is not None:
        wait, arrival = _arrive(flow.rate_limit, state.rate_limit_at, now)
        if wait:
            return state, Dropped("rate_limit")
        state = replace(state, rate_limit_at=arrival)
    if flow.throttle is not None:
        return _throttled(flow.throttle, state, event_id, now=now, new_id=new_id)
    if flow.debounce is not None:
        return _debounced(flow.debounce, state, event_id, now=now, new_id=new_id)
    if flow.batch is not None:
        return _batched(flow.batch, state, event_id, now=now, new_id=new_id)
    return state, Admitted()


def _arrive(rate: Rate, expected: datetime | None, now: datetime) -> tuple[timedelta, datetime]:
    """Say how long an arrival must wait to conform, and when the next is expected if it does (GCRA)."""
    interval = _interval(rate)
    arrival = max(expected or now, now)
    return max(arrival - now - interval * (rate.limit - 1), timedelta()), arrival + interval


def _interval(rate: Rate) -> timedelta:
    """Give the time from one arrival to the next at this rate."""
    # Rounded up to the step of every clock here, so that a rate is never exceeded.
    return -(-timedelta(seconds=rate.seconds) // rate.limit)


def _window(rate: Rate) -> timedelta:
    """Give how far ahead of now the next arrival is expected after one that had not to wait, at most."""
    return _interval(rate) * rate.limit


def _throttled(
    rate: Rate, state: FlowState, event_id: UUID, *, now: datetime, new_id: UUID
) -> tuple[FlowState, Verdict]:
    wait, arrival = _arrive(rate, state.throttle_at, now)
    if wait > THROTTLE_LIMIT:
        return state, Dropped("throttle")
    state = replace(state, throttle_at=arrival)
    if not wait:
        return state, Admitted()
    return state, Gathering(id=new_id, event_ids=(event_id,), first_at=now, due_at=now + wait)


def _open(state: FlowState, now: datetime) -> Gathering | None:
    """Give the gathering that an event still joins: one that is due is closed, even before somebody acts upon it."""
    return state.gathering if state.gathering is not None and state.gathering.due_at > now else None


def _debounced(
    debounce: Debounce, state: FlowState, event_id: UUID, *, now: datetime, new_id: UUID
) -> tuple[FlowState, Verdict]:
    known = _debounced_before(debounce, _open(state, now))
    first_at = known.first_at if known else now
    due_at = now + timedelta(seconds=debounce.seconds)
    if debounce.max_seconds is not None:
        due_at = min(due_at, first_at + timedelta(seconds=debounce.max_seconds))
    gathering = Gathering(
        id=known.id if known else new_id,
        event_ids=(event_id,),
        first_at=first_at,
        due_at=due_at,
        superseded=known.superseded + 1 if known else 0,
    )
    return replace(state, gathering=gathering), gathering


def _debounced_before(debounce: Debounce, known: Gathering | None) -> Gathering | None:
    """
    Give what the newest event takes the place of.

    Not what a batch gathered before the limits were another: of that every event is to be acted upon. One event that no
    other took the place of tells by its time whether it waits for this debounce.
    """
    if known is None or len(known.event_ids) > 1:
        return None
    is_of_this = known.due_at - known.first_at == timedelta(seconds=debounce.seconds)
    return known if known.superseded or is_of_this else None


def _batched(
    batch: Batch, state: FlowState, event_id: UUID, *, now: datetime, new_id: UUID
) -> tuple[FlowState, Verdict]:
    latest = now + timedelta(seconds=batch.seconds)
    known = _open(state, now)
    if known is None or known.superseded:
        known = Gathering(id=new_id, event_ids=(), first_at=now, due_at=latest)
    gathering = replace(known, event_ids=(*known.event_ids, event_id), due_at=min(known.due_at, latest))
    if len(gathering.event_ids) < batch.size:
        return replace(state, gathering=gathering), gathering
    # It is full: due at once, and the next event of this key begins another.
    full = replace(gathering, due_at=now)
    return replace(state, gathering=None), full
