"""Instants as people type them on a command line; each error names the field and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from ...domain.durations import parse_iso, parse_words
from ...domain.errors import InvalidInput
from ...domain.zones import instant_of, load_zone, seam_at

_NOW: Final = "now"
_IN: Final = "in "
_AGO: Final = " ago"

_COMING: Final = "2026-03-01T08:00:00Z, or `in 10m`"
_ANY: Final = "2026-03-01T08:00:00Z, 2026-03-01 (in UTC), `5m ago` or `in 10m`"
_PAST: Final = "2026-03-01T08:00:00Z, 2026-03-01 (in UTC), or `5m ago`"


def read_instant(text: str, field: str) -> datetime:
    """
    Read an instant: ISO 8601 with an offset, or `in 10m` from now, or `now`.

    `now` is the next full second, which has not passed when it is put to use.

    Raises:
        InvalidInput: it cannot be read, or has no offset.
    """
    return _ahead(text, field) or _written(text, field, _COMING, lambda wall: _without_zone(wall, field))


def read_wall_time(text: str, field: str, timezone: str | None) -> datetime:
    """
    Read an instant that may lack its offset: it is then wall time in `timezone`, which `--timezone` names.

    Raises:
        InvalidInput: it cannot be read, has no offset and no zone, or does not exist in the zone.
    """
    return _ahead(text, field) or _written(text, field, _COMING, lambda wall: _from_wall(wall, field, timezone))


def optional_instant(text: str | None, field: str) -> datetime | None:
    """Read an instant that may be left out."""
    return None if text is None else read_instant(text, field)


def optional_bound(text: str | None, field: str, *, past: bool = False) -> datetime | None:
    """
    Read a bound of what is asked for: an instant, or `5m ago`, or a date, which is its midnight in UTC.

    With `past` the question is about what has been, and no error suggests what is to come.

    Raises:
        InvalidInput: it cannot be read, or has no offset.
    """
    return None if text is None else read_bound(text, field, past=past)


def read_bound(text: str, field: str, *, past: bool = False) -> datetime:
    """Read a bound that may not be left out, as `optional_bound`."""
    if text.endswith(_AGO):
        return _full_second() - read_length(text.removesuffix(_AGO), field)
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        examples = _PAST if past else _ANY
        return _ahead(text, field) or _written(text, field, examples, lambda wall: _without_zone(wall, field))


def read_length(text: str, field: str) -> timedelta:
    """
    Read a length of time: `10m`, `1h30m`, `6 hours` or `PT6H`.

    Raises:
        InvalidInput: it is none, or longer than 366 days.
    """
    length = text.strip().lower()
    try:
        return parse_iso(length.upper()) if length.startswith("p") else parse_words(length)
    except InvalidInput:
        expected = "is not a length of time of up to 366 days, such as 10m, 1h30m or 6 hours"
        raise InvalidInput.of(field, f"{length!r} {expected}") from None


def is_relative(text: str) -> bool:
    """Tell `now` and `in 10m` from instants that stay where they are."""
    return text == _NOW or text.startswith(_IN)


def _ahead(text: str, field: str) -> datetime | None:
    if not is_relative(text):
        return None
    return _full_second() + (timedelta(seconds=1) if text == _NOW else read_length(text.removeprefix(_IN), field))


def _full_second() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _written(text: str, field: str, examples: str, from_wall: Callable[[datetime], datetime]) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        return instant.astimezone(UTC) if instant.tzinfo else from_wall(instant)
    except (ValueError, OverflowError):
        raise InvalidInput.of(field, f"{text!r} is not an instant; expected one such as {examples}") from None


def _without_zone(moment: datetime, field: str) -> datetime:
    raise InvalidInput.of(field, f"{moment.isoformat()} needs a UTC offset, such as {moment.isoformat()}Z")


def _from_wall(moment: datetime, field: str, timezone: str | None) -> datetime:
    if timezone is None:
        raise InvalidInput.of(field, f"{moment.isoformat()} needs a UTC offset, such as Z, or --timezone")
    zone = load_zone(timezone)
    seam = seam_at(moment, zone)
    if seam is not None and seam.is_gap:
        raise InvalidInput.of(field, f"{moment.isoformat()} does not exist in {timezone}: the clocks skip it")
    return instant_of(moment, zone)
