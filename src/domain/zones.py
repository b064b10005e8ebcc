"""Time zones by name, and the seams of their wall time: the stretches that a clock change skips or repeats."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from math import ceil
from zoneinfo import ZoneInfo, available_timezones

from .errors import InvalidSchedule

LONGEST_NAME = 64

_DAY = timedelta(days=1)
_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """Naive wall times from `start` up to, not including, `end` that a zone skips (a gap) or repeats (an overlap)."""

    start: datetime
    end: datetime
    is_gap: bool


def load_zone(name: str) -> ZoneInfo:
    """
    Find a zone of the IANA database by its exact name.

    Raises:
        InvalidSchedule: on field `timezone`, with the nearest name if there is one.

    """
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise InvalidSchedule.of(
            "timezone", f"expected an IANA name of at most {LONGEST_NAME} characters, such as Europe/Berlin"
        )
    if name not in _names():
        nearest = get_close_matches(name, _names(), n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else "expected one such as Europe/Berlin or UTC"
        raise InvalidSchedule.of("timezone", f"no time zone is named {name!r}; {hint}")
    return _zone(name)


def instant_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """Read a naive wall time as an instant in UTC; its `fold` says which pass of an overlap is meant."""
    moment = wall - (zone.utcoffset(wall) or timedelta())
    # Several times faster than replace(), and this runs for every step of every cron.
    return datetime.combine(moment.date(), moment.time(), UTC)


def seam_at(wall: datetime, zone: ZoneInfo) -> Seam | None:
    """Find the seam that a naive wall time lies in, or None: nearly every wall time comes exactly once."""
    old, new = zone.utcoffset(wall), zone.utcoffset(wall.replace(fold=1 - wall.fold))
    if old == new or old is None or new is None:
        return None
    # PEP 495: fold 0 reads a wall time by the offset before the change, fold 1 by the one after it.
    old, new = (new, old) if wall.fold else (old, new)
    earlier, later = sorted(instant_of(wall.replace(microsecond=0, fold=fold), zone) for fold in (0, 1))
    change = _change(zone, earlier, later).replace(tzinfo=None)
    start, end = sorted((change + old, change + new))
    return Seam(start=start, end=end, is_gap=old < new)


def changes_between(zone: ZoneInfo, earlier: datetime, later: datetime) -> Iterator[tuple[datetime, timedelta]]:
    """
    Find the instants in (`earlier`, `later`] at which the offset changes, and by how much.

    Looks once a day: two changes within one day that cancel out are not seen, and no zone had such.
    """
    before = earlier
    while before < later:
        after = min(before + _DAY, later)
        old, new = before.astimezone(zone).utcoffset(), after.astimezone(zone).utcoffset()
        if old is not None and new is not None and old != new:
            yield _change(zone, before, after), new - old
        before = after


def _change(zone: ZoneInfo, earlier: datetime, later: datetime) -> datetime:
    """Find the instant at which the offset stops being that of `earlier`; zoneinfo keeps its list to itself."""

    def changed(seconds: int) -> bool:
        return (earlier + timedelta(seconds=seconds)).astimezone(zone).utcoffset() != before

    before = earlier.astimezone(zone).utcoffset()
    span = range(ceil((later - earlier).total_seconds()))
    return earlier + timedelta(seconds=bisect_left(span, 1, key=changed))


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    """List the known names, less the machine's own zone: a schedule must mean the same on every node."""
    return frozenset(available_timezones() - {"localtime"})
