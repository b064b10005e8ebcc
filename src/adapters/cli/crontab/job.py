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
