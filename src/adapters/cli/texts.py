"""Instants, lengths of time and foreign text as people read them on a terminal."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_TWO_UNITS_BELOW: Final = 10
_WITHOUT_OFFSET: Final = len("2026-03-01 13:00:05")


def visible(text: str) -> str:
    """Escape what a terminal would obey rather than show: a job's name must not be able to clear the screen."""
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def relative(instant: datetime, now: datetime) -> str:
    """Say how far an instant is, such as `in 5 min`, `2 h 10 min ago` or `now`."""
    seconds = round((instant - now).total_seconds())
    if seconds == 0:
        return "now"
    length = span(timedelta(seconds=abs(seconds)))
    return f"in {length}" if seconds > 0 else f"{length} ago"


def span(length: timedelta) -> str:
    """Say a length in its largest unit, and the next one while the first is a small number: `2 h 10 min`."""
    rest = round(length.total_seconds())
    for position, (seconds, unit) in enumerate(_UNITS):
        count, left = divmod(rest, seconds)
        if not count:
            continue
        if count >= _TWO_UNITS_BELOW or position + 1 == len(_UNITS):
            return f"{count} {unit}"
        finer, finer_unit = _UNITS[position + 1]
        return f"{count} {unit} {left // finer} {finer_unit}" if left // finer else f"{count} {unit}"
    return "0 s"


def milliseconds(value: float) -> str:
    """Say a duration in ms the way its size asks for: `85 ms`, `2.4 s`, `3 min 20 s`."""
    if value < 1000:  # noqa: PLR2004 - a second
        return f"{value:.0f} ms"
    if value < 60_000:  # noqa: PLR2004 - a minute
        return f"{value / 1000:.1f} s"
    return span(timedelta(milliseconds=value))


def wall(instant: datetime) -> str:
    """Write an instant on this machine's clock with its offset: `2026-03-01 13:00:05 +01:00`."""
    return written(instant.astimezone())


def written(instant: datetime) -> str:
    """Write an instant on the clock it comes with."""
    text = instant.isoformat(" ", "seconds")
    return f"{text[:_WITHOUT_OFFSET]} {text[_WITHOUT_OFFSET:]}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Say how many: `1 retry`, `2 retries`; without `many` an s is added."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def shortened(text: str, longest: int) -> str:
    """Make foreign text safe to print, and cut it to so many characters if it is longer."""
    shown = visible(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def percent(share: float | None) -> str:
    """Write a share of 1 as a percentage, or a dash."""
    return "-" if share is None else f"{share:.1%}"
