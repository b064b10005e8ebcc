"""The faces of one database, handed around together."""

from __future__ import annotations

from dataclasses import dataclass

from .batches import BatchStore
from .events import EventHandlerStore, EventStore, Outbox
from .ledger import Ledger
from .locks import Locks
from .overviews import OverviewStore
from .stores import ExecutionStore, JobStore, WorkerStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """
    Jobs, one or many at once, and executions as requests see them, the ledger as the loops do.

    Beside them events with the rules about them and the outbox, what pages ask for at a glance, the registry of
    workers, and locks for what one node does for all.
    """

    jobs: JobStore
    executions: ExecutionStore
    ledger: Ledger
    events: EventStore
    event_handlers: EventHandlerStore
    outbox: Outbox
    overviews: OverviewStore
    batches: BatchStore
    workers: WorkerStore
    locks: Locks
