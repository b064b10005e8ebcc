"""The pieces of a crontab line: words, settings, commands; the rules are those of crontab(5)."""

from __future__ import annotations

import re
from typing import Final

BLANKS: Final = " \t"

_BLANKS: Final = re.compile(r"[ \t]+")
_UNSTORABLE: Final = re.compile(r"[\0\ud800-\udfff]")
_SETTING: Final = re.compile(r"""("[^"=]*"|'[^'=]*'|[^ \t="'][^ \t=]*|)[ \t]*=[ \t]*(.*)""", re.DOTALL)
_ESCAPE_OR_PERCENT: Final = re.compile(r"\\.|%")
_PERCENT: Final = re.compile(r"\\?%")


class Unreadable(ValueError):
    """A line cannot be carried over; the text is the reason."""


def check_characters(content: str) -> None:
    """
    Refuse what no command line can hold: NUL, and the lone surrogates that stand for bytes that are no UTF-8.

    Raises:
        Unreadable: such a character is in it.
    """
    if found := _UNSTORABLE.search(content):
        raise Unreadable("has a NUL character" if found[0] == "\0" else "is not valid UTF-8")


def split_words(content: str, count: int, *, expected: str) -> tuple[list[str], str]:
    """
    Take the first `count` words; the rest keeps its blanks, and is never empty.

    Raises:
        Unreadable: there are fewer words, or nothing follows.
    """
    *found, rest = _BLANKS.split(content, maxsplit=count)
    if len(found) < count or not rest:
        raise Unreadable(f"expected {expected}, found only {content.strip(BLANKS)!r}")
    return found, rest


def split_setting(content: str) -> tuple[str, str] | None:
    """
    Read `NAME=value`, either in quotes or not, blanks around `=` or not; None if the line is no setting.

    As in cron, nothing is expanded, and a `#` belongs to the value.

    Raises:
        Unreadable: it is a setting, but not one that cron would take.
    """
    match = _SETTING.fullmatch(content)
    if match is None:
        return None
    name, value = match.groups()
    if name[:1] in {'"', "'"}:
        name = name[1:-1]
    if not name:
        raise Unreadable("has no name before the =")
    return name, _unquoted(value)


def _unquoted(value: str) -> str:
    quote = value[:1]
    if quote not in {'"', "'"}:
        return value.rstrip(BLANKS)
    inside, closing, after = value[1:].partition(quote)
    if not closing:
        raise Unreadable(f"opens a quote ({quote}) that is never closed")
    if after.strip(BLANKS):
        raise Unreadable(f"has text after the closing quote: {after.strip(BLANKS)!r}")
    return inside


def split_input(text: str) -> tuple[str, str | None]:
    r"""
    Part a command from its standard input at the first `%` that has no backslash.

    In the input every further `%` is a newline, and one is added at the end if need be; `\%` is a `%` on both sides.
    """
    split = next((mark.start() for mark in _ESCAPE_OR_PERCENT.finditer(text) if mark[0] == "%"), len(text))
    given = _PERCENT.sub(lambda mark: "\n" if mark[0] == "%" else "%", text[split + 1 :])
    command = text[:split].replace(r"\%", "%")
    if not given:
        return command, None
    return command, given if given.endswith("\n") else f"{given}\n"
