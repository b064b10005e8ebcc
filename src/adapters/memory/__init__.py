"""Everything in the memory of one process: the stores a test, or a throwaway node, runs on."""

from __future__ import annotations

from ...ports.clock import Clock
from ...ports.storage import Storage
from .batches import MemoryBatches
from .bells import LocalBells
from .database import MemoryDatabase
from .dispatcher import InProcessDispatcher
from .event_handlers import MemoryEventHandlers
from .events import MemoryEvents
from .executions import MemoryExecutions
from .jobs import MemoryJobs
from .ledger import MemoryLedger
from .locks import MemoryLocks
from .outbox import MemoryOutbox
from .overviews import MemoryOverviews
from .workers import MemoryWorkers

__all__ = [
    "InProcessDispatcher",
    "LocalBells",
    "MemoryBatches",
    "MemoryDatabase",
    "MemoryEventHandlers",
    "MemoryEvents",
    "MemoryExecutions",
    "MemoryJobs",
    "MemoryLedger",
    "MemoryLocks",
    "MemoryOutbox",
    "MemoryOverviews",
    "MemoryWorkers",
    "memory_storage",
]


def memory_storage(clock: Clock) -> Storage:
    """Make the faces of an empty database that is gone when nobody holds it any more."""
    database = MemoryDatabase(clock)
    return Storage(
        jobs=MemoryJobs(database),
        executions=MemoryExecutions(database),
        ledger=MemoryLedger(database),
        events=MemoryEvents(database),
        event_handlers=MemoryEventHandlers(database),
        outbox=MemoryOutbox(database),
        overviews=MemoryOverviews(database),
        batches=MemoryBatches(database),
        workers=MemoryWorkers(database),
        locks=MemoryLocks(database),
    )
