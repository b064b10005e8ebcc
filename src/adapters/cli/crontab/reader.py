"""From the text of a crontab to its entries, settings, refusals and notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Final

from ....domain.errors import InvalidInput
from ....domain.zones import load_zone
from .document import Crontab, CrontabEntry, CrontabLayout, CrontabSetting, Note, RefusedLine
from .fields import split_schedule
from .identity import identified
from .syntax import BLANKS, Unreadable, check_characters, split_input, split_setting, split_words

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_USER: Final = re.compile(r"[A-Za-z_][\w.@+\\-]*\$?(:[\w.-]+)?")
_TIME_FIELD: Final = re.compile(r"\*|[0-9?][0-9?*,/-]*(?![^ \t])")
_OWN_PREFIX: Final = "TOCSIN_"
_SET_BY_CRON: Final = frozenset({"LOGNAME", "USER"})
_NO_MAIL: Final = "no mail is sent; what a command prints is in the log of its execution"
_NOT_CARRIED: Final = {
    "MAILTO": _NO_MAIL,
    "MAILFROM": _NO_MAIL,
    "RANDOM_DELAY": "there is no random delay; the jobs run on time",
    "LOGNAME": "is ignored, as it is by cron: it names the user who runs the command",
    "USER": "is ignored, as it is by cron: it names the user who runs the command",
}
_SAYS_NOTHING: Final = frozenset({"", "0"})


def read_crontab(
    text: str,
    *,
    layout: CrontabLayout,
    check: Callable[[str], object],
    scope: str = "",
) -> Crontab:
    """
    Read a crontab as cron would; nothing in the text makes this raise.

    Lines end with LF, CRLF or CR; a byte order mark is passed over. `check` is asked about each schedule and
    raises InvalidSchedule for one that Tocsin does not take: its message is the reason of the refusal. An entry
    is also refused where its CRON_TZ or SHELL cannot be used, since it would run at a wrong time or in a wrong
    shell. `scope` goes into the keys, to keep apart files in which different people run the same command.
    """
    reader = _Reader(layout, check)
    for line, source in enumerate(_LINE_END.split(text.removeprefix("\ufeff")), start=1):
        reader.take(line, source)
    return Crontab(
        entries=tuple(sorted(identified(reader.entries, scope=scope), key=attrgetter("line"))),
        settings=tuple(reader.settings),
        refused=tuple(reader.refused),
        notes=tuple(reader.notes),
        scope=scope,
    )


class _Reader:
    """Takes line after line, and holds the settings that the next entry runs under."""

    def __init__(self, layout: CrontabLayout, check: Callable[[str], object]) -> None:
        self._layout = layout
        self._check = check
        self._environment: dict[str, str] = {}
        self.entries: list[CrontabEntry] = []
        self.settings: list[CrontabSetting] = []
        self.refused: list[RefusedLine] = []
        self.notes: list[Note] = []

    def take(self, line: int, source: str) -> None:
        """Put one line where it belongs."""
        content = source.lstrip(BLANKS)
        if not content or content.startswith("#"):
            return
        try:
            check_characters(content)
            if (setting := split_setting(content)) is not None:
                self._set(line, *setting)
            else:
                self._enter(line, source)
        except (Unreadable, InvalidInput) as error:
            self.refused.append(RefusedLine(line=line, text=source, reason=str(error)))

    def _set(self, line: int, name: str, value: str) -> None:
        if name.startswith(_OWN_PREFIX):
            raise Unreadable(f"variables that start with {_OWN_PREFIX} are set by Tocsin itself")
        self.settings.append(CrontabSetting(line=line, name=name, value=value))
        if name not in _SET_BY_CRON:
            self._environment[name] = value
        if name in _NOT_CARRIED and value not in _SAYS_NOTHING:
            self._note(line, f"{name}: {_NOT_CARRIED[name]}")

    def _enter(self, line: int, source: str) -> None:
        content = source.lstrip(BLANKS)
        schedule, rest = split_schedule(content.removeprefix("-"))
        self._check(schedule)
        user, rest = self._split_user(rest)
        command, stdin = split_input(rest)
        _check_command(command)
        self.entries.append(
            CrontabEntry(
                line=line,
                key="",
                schedule=schedule,
                timezone=self._timezone(),
                command=command,
                stdin=stdin,
                environment=dict(self._environment),
                shell=self._shell(),
                user=user,
                source=source,
            )
        )
        self._note_entry(line, content, self.entries[-1])

    def _split_user(self, rest: str) -> tuple[str | None, str]:
        if self._layout is CrontabLayout.USER:
            return None, rest
        (user,), command = split_words(rest, 1, expected="a user and a command after the time")
        if not _USER.fullmatch(user):
            raise Unreadable(f"{user!r} is no name of a user, which the system's crontab has after the time")
        return user, command

    def _timezone(self) -> str | None:
        name = self._environment.get("CRON_TZ")
        if not name:
            return None
        load_zone(name)
        return name

    def _shell(self) -> str:
        shell = self._environment.get("SHELL", "/bin/sh")
        if not shell.startswith("/"):
            raise Unreadable(f"runs with SHELL={shell!r}, which is no absolute path")
        return shell

    def _note_entry(self, line: int, content: str, entry: CrontabEntry) -> None:
        if content.startswith("-"):
            self._note(line, "the leading - (no line in the system's log) means nothing here: every run is recorded")
        if entry.user is not None:
            self._note(line, f"runs as the user of the service, not as {entry.user}")
        elif entry.command.startswith(("root ", "root\t")):
            self._note(line, "the command starts with `root`: if this is a system's crontab, it must be read as one")

    def _note(self, line: int, reason: str) -> None:
        self.notes.append(Note(line=line, reason=reason))


def _check_command(command: str) -> None:
    if not command.strip(BLANKS):
        raise Unreadable("the command before the % is empty")
    if _TIME_FIELD.match(command):
        raise Unreadable(f"has a time field too many: the command would start with {command.split(maxsplit=1)[0]!r}")
    if command.startswith("-"):
        raise Unreadable(f"the option {command.split(maxsplit=1)[0]!r} before the command is not known")
