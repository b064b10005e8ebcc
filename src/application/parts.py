"""What a node is made of: who it is, the ports that its loops work with, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from ..ports.clock import Clock
from ..ports.dispatcher import Dispatcher
from ..ports.handlers import Handlers
from ..ports.storage import Storage
from ..ports.telemetry import Telemetry
from .auditing import Auditor
from .event_parts import EventParts
from .executor import CAPACITY
from .planning import Planning
from .retention import Retention

DRAIN_SECONDS: Final = 30.0


class Role(StrEnum):
    """What a process does: serve requests, fire, run, recover."""

    API = "api"
    TIMER = "timer"
    EXECUTOR = "executor"
    SWEEPER = "sweeper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a node is: its name, and a boot id that makes a restart another worker."""

    name: str
    boot_id: str
    version: str
    roles: Sequence[Role]

    @property
    def worker_id(self) -> str:
        """The name under which it holds leases."""
        return f"{self.name}#{self.boot_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The ports that a node's loops work with."""

    storage: Storage
    dispatcher: Dispatcher
    handlers: Handlers
    planning: Planning
    auditor: Auditor
    events: EventParts
    retention: Retention
    clock: Clock
    telemetry: Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What a node may hold and how long it may take.

    `wake_seconds` caps every wait: 1 where processes share no bell, 5 elsewhere. `dispatch_grace` is how long a
    dispatched execution may stay unclaimed before somebody asks whether it got lost.
    """

    capacity: int = CAPACITY
    wake_seconds: float = 1.0
    dispatch_grace: timedelta = timedelta(seconds=1)
    drain_seconds: float = DRAIN_SECONDS
