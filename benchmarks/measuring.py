"""The part of a run that is measured: what its preparation takes is nobody's concern, a profiler's included."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .engines import Place
from .figures import Figure, cost, fact
from .profiler import spying
from .usage import OWN, Usage


@dataclass(slots=True)
class Measurement:
    """Time on the wall, and of processors, from a start to a stop; not stopped yet, up to now."""

    usage: Usage
    servers: Sequence[str]
    started: float = field(default_factory=time.perf_counter)
    _stopped: float | None = None
    _spent: dict[str, float] = field(default_factory=dict)

    def stop(self) -> float:
        """Count no further, and tell the seconds on the wall; stopping again changes nothing."""
        if self._stopped is None:
            self._stopped, self._spent = time.perf_counter(), self.usage.seconds()
        return self._stopped - self.started

    @property
    def others(self) -> list[tuple[str, float]]:
        """Tell the processor seconds of all but this process, by name."""
        self.stop()
        return [(name, self._spent[name]) for name in self.usage.others]

    def costs(self, amount: float, what: str) -> list[Figure]:
        """Tell the processor time for each of an amount of things, and the servers' part of it."""
        self.stop()
        each = [
            cost(f"processor time of {name} per {what}", used / amount * 1e6, "us")
            for name, used in self._spent.items()
        ]
        return [*each, self.servers_share()] if self.servers else each

    def servers_share(self) -> Figure:
        """Tell the servers' part of all processor time spent."""
        self.stop()
        total = sum(self._spent.values())
        servers = sum(self._spent[name] for name in self.servers)
        return fact("part of the servers in processor time", servers / total * 100 if total else 0.0, "%")


@contextmanager
def measured(place: Place, *, own: str = OWN, **others: int) -> Iterator[Measurement]:
    """Measure what is done in the context; this process counts as `own`, and `others` are further ones by name."""
    gc.collect()
    with spying(os.getpid(), own):
        measurement = Measurement(Usage({**place.servers, **others}, own), servers=list(place.servers))
        yield measurement
        measurement.stop()
