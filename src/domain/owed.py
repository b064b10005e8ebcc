"""The nominal times that one version of a job owes, looked into without walking through them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from .errors import InvalidSchedule
from .firing import BEFORE, Stretch
from .history import Version
from .job import ScheduledJob
from .occurrences import OccurrenceSource, nth_after

Sources: TypeAlias = Callable[[ScheduledJob], OccurrenceSource]
"""Gives the nominal times of a job; raises InvalidSchedule if they cannot be computed."""


class Owed:
    """
    The nominal times of one version, within its own start_date and end_date.

    `problem` says why they cannot be computed; then, and while the version does not fire, there are none.
    """

    def __init__(self, version: Version, sources: Sources) -> None:
        self.version = version
        self.problem: str | None = None
        self._source: OccurrenceSource | None = None
        self._found: datetime | None = None
        if version.fires:
            try:
                self._source = sources(version.job)
            except InvalidSchedule as error:
                self.problem = str(error)

    def between(self, after: datetime, until: datetime) -> Stretch | None:
        """Sum up those later than `after` and not later than `until`; None if there are none."""
        definition = self.version.job.definition
        start = max(after, definition.start_date - BEFORE) if definition.start_date else after
        end = min(until, definition.end_date) if definition.end_date else until
        if self._source is None or start >= end:
            return None
        found = self._source.after(start)
        self._found = None if found is None else found.at
        if self._found is None or self._found > end:
            return None
        count = self._source.count(start, end)
        last = self._found if count == 1 else nth_after(self._source, start, count, end)
        return Stretch(first=self._found, last=last, count=count)

    def has(self, at: datetime) -> bool:
        """Tell whether it is one of them."""
        # Mostly it is the very time that was found to be the next when the gap before it was looked through.
        return at == self._found or self.between(at - BEFORE, at) is not None
