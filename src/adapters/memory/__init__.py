"""Everything in the memory of one process: the stores a test, or a throwaway node, runs on."""

from __future__ import annotations

from ...ports.clock import Clock
from ...ports.storage import Storage
from .database import MemoryDatabase
from .dispatcher import InProcessDispatcher
from .executions import MemoryExecutions
from .jobs import MemoryJobs
from .ledger import MemoryLedger
from .workers import MemoryWorkers

__all__ = [
    "InProcessDispatcher",
    "MemoryDatabase",
    "MemoryExecutions",
    "MemoryJobs",
    "MemoryLedger",
    "MemoryWorkers",
    "memory_storage",
]


def memory_storage(clock: Clock) -> Storage:
    """Make the four faces of an empty database that is gone when nobody holds it any more."""
    database = MemoryDatabase(clock)
    return Storage(
        jobs=MemoryJobs(database),
        executions=MemoryExecutions(database),
        ledger=MemoryLedger(database),
        workers=MemoryWorkers(database),
    )
