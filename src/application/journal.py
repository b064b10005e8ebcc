"""What handlers say while they run: log lines and progress, gathered here and written in batches."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from datetime import datetime
from threading import Lock
from typing import Final
from uuid import UUID

from ..domain.attempt import Attempt
from ..domain.json import Json, NotStorable, clean_text
from ..ports.ledger import Hold, Ledger, LogLine, Progress
from .outcomes import kept

LINES_LIMIT: Final = 2000
"""Log lines kept of one attempt; the last one says that more were dropped."""

MESSAGE_LIMIT: Final = 8 * 1024
FIELDS_LIMIT: Final = 8 * 1024
BATCH: Final = 1000


class Journal:
    """Collects lines and progress from any thread; `flush` writes them."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._lock = Lock()
        self._lines: deque[LogLine] = deque()
        self._progress: dict[Hold, Progress] = {}

    def logger_of(self, attempt: Attempt) -> AttemptLogger:
        """Make the logger that one attempt's handler gets."""
        return AttemptLogger(self, attempt.execution_id, attempt.attempt)

    def reporter_of(self, attempt: Attempt) -> Callable[[float, str | None], None]:
        """Make the function through which one attempt's handler reports progress; the newest report wins."""

        def report(percent: float, message: str | None) -> None:
            newest = Progress(
                execution_id=attempt.execution_id,
                attempt=attempt.attempt,
                percent=percent if math.isfinite(percent) else 0.0,
                message=None if message is None else _text(message),
            )
            with self._lock:
                self._progress[newest.execution_id, newest.attempt] = newest

        return report

    def add(self, line: LogLine) -> None:
        """Take one line."""
        with self._lock:
            self._lines.append(line)

    def now(self) -> datetime:
        """Read the clock that stamps lines."""
        return self._now()

    async def flush(self, ledger: Ledger) -> None:
        """Write all that was collected; what a failing store refuses is kept for the next flush."""
        while lines := self._take():
            try:
                await ledger.append_logs(lines)
            except BaseException:
                with self._lock:
                    self._lines.extendleft(reversed(lines))
                raise
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

    def _take(self) -> list[LogLine]:
        with self._lock:
            return [self._lines.popleft() for _ in range(min(BATCH, len(self._lines)))]


class AttemptLogger:
    """The execution log of one attempt, as its handler sees it (`ports.handlers.ExecutionLogger`)."""

    def __init__(self, journal: Journal, execution_id: UUID, attempt: int) -> None:
        self._journal = journal
        self._execution_id = execution_id
        self._attempt = attempt
        self._lock = Lock()
        self._sequence = 0

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
        with self._lock:
            self._sequence += 1
            sequence = self._sequence
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
    try:
        text = str(message)
    except Exception as broken:  # noqa: BLE001 - a logger never raises, whatever it is given
        text = f"a {type(message).__name__} that cannot be written: {type(broken).__name__}"
    return clean_text(text, limit=MESSAGE_LIMIT)


def _fields(fields: dict[str, Json]) -> Json:
    if not fields:
        return None
    try:
        return kept(fields, limit=FIELDS_LIMIT)
    except NotStorable as error:
        return {"dropped": clean_text(str(error), limit=FIELDS_LIMIT // 2)}
