"""Which streams it is time to look after again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from .keys import Stream


@dataclass(slots=True)
class Rounds:
    """Comes to each stream once in `seconds`, however few are done at a time."""

    seconds: float
    _done_at: dict[str, float] = field(default_factory=dict, init=False)

    def due(self, streams: Sequence[Stream]) -> list[Stream]:
        """Pick those that were not done for long enough."""
        before = time.monotonic() - self.seconds
        return [stream for stream in streams if self._done_at.get(stream.key, before) <= before]

    def done(self, streams: Sequence[Stream]) -> None:
        """Note that these are done."""
        now = time.monotonic()
        self._done_at.update((stream.key, now) for stream in streams)
