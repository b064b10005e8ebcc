"""Processor time and memory of processes, from the kernel: where two share the cores, time on the wall misleads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import psutil

OWN: Final = "node"
"""What this process is called, in which most scenarios have their node."""


@dataclass(slots=True)
class Usage:
    """How much processor time this process and others take from its creation on; `others` are pids by name."""

    others: Mapping[str, int]
    own: str = OWN
    _started: float = field(init=False)
    _before: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        self._before = {name: processor_seconds(pid) for name, pid in self.others.items()}
        self._started = time.process_time()

    def seconds(self) -> dict[str, float]:
        """Tell the seconds so far: of this process under `own`, and of each other with its descendants."""
        spent = time.process_time() - self._started
        return {self.own: spent} | {
            name: processor_seconds(pid) - self._before[name] for name, pid in self.others.items()
        }


def processor_seconds(pid: int) -> float:
    """Tell what a process and all its descendants, those gone included, have used so far."""
    first = psutil.Process(pid)
    spent = 0.0
    for process in (first, *first.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            spent += times.user + times.system + times.children_user + times.children_system
    return spent


def resident_megabytes(pid: int | None = None) -> float:
    """Tell how much memory a process, or this one, holds."""
    return float(psutil.Process(pid).memory_info().rss) / 2**20
