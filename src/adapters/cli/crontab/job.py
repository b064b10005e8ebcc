"""A crontab entry as a Tocsin job of type command."""

from __future__ import annotations

import re
from typing import Final

from ....domain.json import Json
from .document import CrontabEntry
from .syntax import BLANKS

LONGEST_NAME: Final = 255

_BLANKS: Final = re.compile(r"[ \t]+")
_DEFAULT_SHELL: Final = "/bin/sh"


def job_name(entry: CrontabEntry) -> str:
    """Name a job after its command: one line of 1 to 255 printable characters."""
    line = _BLANKS.sub(" ", entry.command.strip(BLANKS))
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"


def to_metadata(entry: CrontabEntry, scope: str) -> dict[str, Json]:
    """
    Write down where the job comes from, under `crontab`; `scope_of` reads it.

    Neither file nor line is in it: a file that moves, or a line in it, changes no job.
    """
    whose = {} if entry.user is None else {"user": entry.user}
    return {"crontab": {"scope": scope, **whose}}


def scope_of(metadata: Json) -> str | None:
    """Read the scope of the crontab that a job came from; None if it came from none."""
    match metadata:
        case {"crontab": {"scope": str(scope)}}:
            return scope
        case _:
            return None


def to_payload(entry: CrontabEntry) -> dict[str, Json]:
    """Write the payload of the job; what is not set is left out. As under cron, the command starts in HOME."""
    payload: dict[str, Json] = {"shell": entry.command}
    if entry.shell != _DEFAULT_SHELL:
        payload["shell_path"] = entry.shell
    if entry.stdin is not None:
        payload["stdin"] = entry.stdin
    if entry.environment:
        payload["environment"] = dict(entry.environment)
    home = entry.environment.get("HOME", "")
    if home.startswith("/"):
        payload["cwd"] = home
    return payload
