"""Every scenario, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ..model.stages import STAGES
from ..scenario import Scenario
from .burst import BURST
from .create import CREATE
from .dashboard import DASHBOARD
from .drain import DRAIN
from .drain_one_time import DRAIN_ONE_TIME
from .drain_two import DRAIN_TWO
from .events import EVENTS
from .faults import FAULTS
from .fleet import FLEET
from .idle import IDLE
from .lateness import LATENESS
from .pages import PAGES
from .scale import SCALE
from .sustained import SUSTAINED

_ALL: Final = (
    DRAIN,
    DRAIN_ONE_TIME,
    DRAIN_TWO,
    CREATE,
    BURST,
    LATENESS,
    SUSTAINED,
    FAULTS,
    FLEET,
    EVENTS,
    SCALE,
    DASHBOARD,
    PAGES,
    IDLE,
    STAGES,
)

SCENARIOS: Final[Mapping[str, Scenario]] = MappingProxyType({each.name: each for each in _ALL})
