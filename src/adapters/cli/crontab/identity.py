"""Which entry is which between two imports of a file that was edited in the meantime."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256

from .document import CrontabEntry

_DIGITS = 16


def identified(entries: Iterable[CrontabEntry], *, scope: str) -> Iterator[CrontabEntry]:
    """
    Give each entry the key of what it runs: scope, user, command and input, not when or with which settings.

    So an edited schedule or setting updates its job instead of leaving the old one to run beside a new one.
    The same command on several lines is told apart by rank, and ranks go by content, not by place in the file:
    moving lines changes no key. Editing one of such lines may hand their keys around among them, but the keys
    together still stand for the lines together.
    """
    seen: Counter[tuple[str | None, ...]] = Counter()
    for entry in sorted(entries, key=_rank):
        what = (scope, entry.user, entry.command, entry.stdin)
        seen[what] += 1
        digest = sha256(json.dumps([*what, seen[what]]).encode()).hexdigest()
        yield replace(entry, key=f"crontab:{digest[:_DIGITS]}")


def _rank(entry: CrontabEntry) -> tuple[object, ...]:
    return (entry.schedule, entry.timezone or "", entry.shell, sorted(entry.environment.items()), entry.line)
