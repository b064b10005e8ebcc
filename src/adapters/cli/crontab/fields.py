"""The time of a crontab line: five fields or a macro, held to what every cron agrees on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .syntax import Unreadable, split_words

_MACROS: Final = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_ITEM: Final = re.compile(r"(?:\*|(?P<first>[0-9]{1,9}|[A-Za-z]+)(?:-(?P<last>[0-9]{1,9}|[A-Za-z]+))?)(?P<step>/.*)?")
_STEP: Final = re.compile(r"/0*[1-9][0-9]{0,8}")
_FOREIGN: Final = (
    (re.compile(r"~"), "a time chosen at random (~) cannot be carried over; write a fixed one"),
    (re.compile(r"^H(?![A-Za-z])"), "a time chosen by hash (H) is not cron's; write a fixed one"),
    (re.compile(r"\?"), "? is not cron's; write *"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One column: its name, the numbers it takes, and the names, which count from `lowest`."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        numbers = f"{self.lowest}-{self.highest}"
        return f"{numbers} or {self.names[0]}-{self.names[-1]}" if self.names else numbers


_FIELDS: Final = (
    _Field(name="minute", lowest=0, highest=59),
    _Field(name="hour", lowest=0, highest=23),
    _Field(name="day of month", lowest=1, highest=31),
    _Field(
        name="month",
        lowest=1,
        highest=12,
        names=("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    _Field(name="day of week", lowest=0, highest=7, names=("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


def split_schedule(content: str) -> tuple[str, str]:
    """
    Part the time from what follows it, and check the time; the answer has one blank between fields.

    Raises:
        Unreadable: a field is missing, out of bounds or not cron's, or nothing follows.
    """
    if content.startswith("@"):
        (macro,), rest = split_words(content, 1, expected="a command after the time")
        _check_macro(macro)
        return macro, rest
    fields, rest = split_words(content, len(_FIELDS), expected="five time fields and a command, or NAME=value")
    for field, text in zip(_FIELDS, fields, strict=True):
        _check_field(field, text)
    return " ".join(fields), rest


def _check_macro(macro: str) -> None:
    if macro == "@reboot":
        raise Unreadable("@reboot names no time: nothing here runs at the start of a machine")
    if macro not in _MACROS:
        raise Unreadable(f"{macro!r} is not known; expected one of {', '.join(_MACROS)}")


def _check_field(field: _Field, text: str) -> None:
    try:
        for item in text.split(","):
            _check_item(field, item)
    except Unreadable as reason:
        raise Unreadable(f"{field.name} {text!r}: {reason}") from reason


def _check_item(field: _Field, item: str) -> None:
    if foreign := next((reason for pattern, reason in _FOREIGN if pattern.search(item)), None):
        raise Unreadable(foreign)
    match = _ITEM.fullmatch(item)
    if match is None:
        raise Unreadable(f"{item!r} cannot be read; expected {field.expected}")
    numbers = [_number(field, bound) for bound in match.group("first", "last") if bound is not None]
    if numbers != sorted(numbers):
        raise Unreadable("the range runs backwards; write two, with a comma")
    step = match["step"]
    if step is None:
        return
    if len(numbers) == 1:
        # Some crons ignore such a step, others read a range to the end of the field.
        raise Unreadable("a step needs a range or * before it")
    if not _STEP.fullmatch(step):
        raise Unreadable(f"the step must be a number from 1 up, not {step[1:]!r}")


def _number(field: _Field, bound: str) -> int:
    name = bound.lower()
    if name in field.names:
        return field.lowest + field.names.index(name)
    if not bound.isdigit():
        raise Unreadable(f"{bound!r} is no name that is known here; expected {field.expected}")
    if not field.lowest <= int(bound) <= field.highest:
        raise Unreadable(f"{bound} is out of bounds; expected {field.expected}")
    return int(bound)
