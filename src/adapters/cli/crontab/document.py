"""What a crontab says, line by line; lines count from 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class CrontabLayout(Enum):
    """The two formats of crontab(5): a user's own file, or the system's, with the user in a sixth column."""

    USER = "user"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrontabEntry:
    """
    One command and when it runs.

    `schedule` is five fields or an @macro, as Tocsin takes it; `timezone` is an IANA name, None without CRON_TZ.
    `command` is for `shell`, an absolute path, and `stdin` its input; `environment` holds the settings above
    the entry. `user` is the sixth column of the system's file. `key` (24 characters) is stable between imports,
    and `source` is the line as written.
    """

    line: int
    key: str
    schedule: str
    timezone: str | None
    command: str
    stdin: str | None
    environment: Mapping[str, str]
    shell: str
    user: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrontabSetting:
    """A `NAME=value` line, unquoted; it holds for the entries below it."""

    line: int
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedLine:
    """A line that is not carried over, as written (any character may be in it), and the reason in one sentence."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is different after the import, although the line is carried over."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crontab:
    """
    A whole file, each part in the order of its lines; `scope` keeps its keys apart from those of other files.

    Every line that is neither blank nor a comment is in exactly one of `entries`, `settings` and `refused`.
    """

    entries: tuple[CrontabEntry, ...]
    settings: tuple[CrontabSetting, ...]
    refused: tuple[RefusedLine, ...]
    notes: tuple[Note, ...]
    scope: str = ""
