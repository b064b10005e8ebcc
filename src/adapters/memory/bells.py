"""Bells that ring within one process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable


class LocalBells:
    """Rings for the listeners of this process; processes that share a file look by themselves, and more often."""

    listening = True

    def __init__(self) -> None:
        self._callbacks: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)

    def ring(self, name: str) -> None:
        """Wake the listeners."""
        for callback in self._callbacks[name]:
            callback()

    def listen(self, name: str, callback: Callable[[], None]) -> None:
        """Call back at each ring."""
        self._callbacks[name].append(callback)
