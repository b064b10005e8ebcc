"""How large a case is: small for every change, large on demand, by the same code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MINUTES: Final = "FAULTS_MINUTES"
"""The variable that asks for the full size, and says how long the kills go on in all."""

ENGINES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """
    The measures of a case; durations are in seconds.

    `jobs` fire every second for `load`, amid `one_time_jobs`; the kills have `killing` on each engine. `kill_every`
    is the time from one kill to the next, `pause` how long a server answers nobody, `horizon` for how long a
    transaction keeps dead rows, `backlog` how many executions wait in the pipe, `events` how many are published.
    `patience` is how long a cluster may
    take to have everything done once the load has ended: to reach it is a failure.
    """

    nodes: int
    jobs: int
    one_time_jobs: int
    load: float
    killing: float
    kill_every: float
    pause: float
    horizon: float
    backlog: int
    events: int
    patience: float
    lease: int = 3


CI: Final = Size(
    nodes=4,
    jobs=30,
    one_time_jobs=100,
    load=7,
    killing=15,
    kill_every=5,
    pause=5,
    horizon=12,
    backlog=5_000,
    events=2_000,
    patience=120,
)


def full(minutes: float) -> Size:
    """Measure for a soak."""
    return Size(
        nodes=10,
        jobs=300,
        one_time_jobs=2_000,
        load=60,
        killing=60 * minutes / ENGINES,
        kill_every=1,
        pause=20,
        horizon=180,
        backlog=50_000,
        events=10_000,
        patience=1_800,
    )


def size_from(environment: Mapping[str, str] = os.environ) -> Size:
    """Read which size is asked for."""
    minutes = environment.get(MINUTES)
    return full(float(minutes)) if minutes else CI
