"""What handlers say while they run: log lines and progress, gathered here and written in batches."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from itertools import count
from threading import Lock
from typing import Final
from uuid import UUID

from ..domain.attempt import Attempt
from ..domain.json import Json, NotStorable, clean_text
from ..ports.ledger import Hold, Ledger, LogLine, Progress
from .outcomes import kept, readable

LINES_LIMIT: Final = 2000
"""Log lines kept of one attempt; the last one says that more were dropped."""

MESSAGE_LIMIT: Final = 8 * 1024
FIELDS_LIMIT: Final = 8 * 1024
BATCH: Final = 1000
QUEUE_LIMIT: Final = 50_000
"""Log lines that wait on one node for the store; what is said while so many wait is dropped, and counted."""


class Journal:
    """
    Collects lines and progress from any thread; `flush` writes them.

    `queue_limit` bounds the lines that wait: a line that finds no room is dropped, and the log of its attempt
    says how many were.
    """

    def __init__(self, now: Callable[[], datetime], *, queue_limit: int = QUEUE_LIMIT) -> None:
        self.queue_limit = queue_limit
        self._now = now
        self._lock = Lock()
        self._lines: deque[LogLine] = deque()
        self._dropped: dict[Hold, tuple[LogLine, int]] = {}
        self._progress: dict[Hold, Progress] = {}

    def logger_of(self, attempt: Attempt) -> AttemptLogger:
        """Make the logger that one attempt's handler gets."""
        return AttemptLogger(self, attempt.execution_id, attempt.attempt)

    def report(self, attempt: Attempt, percent: float, message: str | None) -> None:
        """Take a report of progress; the newest of an attempt wins."""
        newest = Progress(
            execution_id=attempt.execution_id,
            attempt=attempt.attempt,
            percent=percent if math.isfinite(percent) else 0.0,
            message=None if message is None else _text(message),
        )
        with self._lock:
            self._progress[newest.execution_id, newest.attempt] = newest

    def add(self, line: LogLine) -> None:
        """Take one line, or count it if there is no room."""
        with self._lock:
            if len(self._lines) < self.queue_limit:
                self._lines.append(line)
                return
            hold = line.execution_id, line.attempt
            first, dropped = self._dropped.get(hold, (line, 0))
            self._dropped[hold] = first, dropped + 1

    def now(self) -> datetime:
        """Read the clock that stamps lines."""
        return self._now()

    async def flush(self, ledger: Ledger) -> None:
        """
        Write all that was collected by now; what a failing store refuses is kept for the next flush.

        What is said meanwhile waits as well, so that a flush ends however fast handlers talk.
        """
        queued = len(self._lines)
        while queued > 0:
            lines = self._take(min(BATCH, queued))
            await self._append(ledger, lines)
            queued -= len(lines)
        if losses := self._take_losses():
            await self._append(ledger, losses)
        with self._lock:
            reports, self._progress = self._progress, {}
        if not reports:
            return
        try:
            await ledger.report(list(reports.values()))
        except BaseException:
            with self._lock:
                self._progress = {**reports, **self._progress}
            raise

    async def _append(self, ledger: Ledger, lines: list[LogLine]) -> None:
        try:
            await ledger.append_logs(lines)
        except BaseException:
            with self._lock:
                self._lines.extendleft(reversed(lines))
            raise

    def _take(self, count: int) -> list[LogLine]:
        with self._lock:
            return [self._lines.popleft() for _ in range(count)]

    def _take_losses(self) -> list[LogLine]:
        """Put one line in the place of all that an attempt lost since the last time."""
        with self._lock:
            dropped, self._dropped = self._dropped, {}
        return [_loss(first, count) for first, count in dropped.values()]


class AttemptLogger:
    """The execution log of one attempt, as its handler sees it (`ports.handlers.ExecutionLogger`)."""

    def __init__(self, journal: Journal, execution_id: UUID, attempt: int) -> None:
        self._journal = journal
        self._execution_id = execution_id
        self._attempt = attempt
        # Counts in one step, from whatever thread.
        self._sequence = count(1)

    def debug(self, message: str, **fields: Json) -> None:
        """Write a line of level debug."""
        self._write("debug", message, fields)

    def info(self, message: str, **fields: Json) -> None:
        """Write a line of level info."""
        self._write("info", message, fields)

    def warning(self, message: str, **fields: Json) -> None:
        """Write a line of level warning."""
        self._write("warning", message, fields)

    def error(self, message: str, **fields: Json) -> None:
        """Write a line of level error."""
        self._write("error", message, fields)

    def _write(self, level: str, message: str, fields: dict[str, Json]) -> None:
        sequence = next(self._sequence)
        if sequence > LINES_LIMIT:
            return
        if sequence == LINES_LIMIT:
            level, message, fields = "warning", f"only the first {LINES_LIMIT - 1} lines of an attempt are kept", {}
        self._journal.add(
            LogLine(
                execution_id=self._execution_id,
                attempt=self._attempt,
                sequence=sequence,
                logged_at=self._journal.now(),
                level=level,
                message=_text(message),
                fields=_fields(fields),
            ),
        )


def _text(message: object) -> str:
    return clean_text(readable(message), limit=MESSAGE_LIMIT)


def _loss(first: LogLine, count: int) -> LogLine:
    message = f"{count} lines were dropped here: more was said on this node than the store could take"
    return replace(first, level="warning", message=message, fields=None)


def _fields(fields: dict[str, Json]) -> Json:
    if not fields:
        return None
    try:
        return kept(fields, limit=FIELDS_LIMIT)
    except NotStorable as error:
        return {"dropped": clean_text(str(error), limit=FIELDS_LIMIT // 2)}
