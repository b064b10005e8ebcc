"""Fleets that are played through, and what came of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from .arrivals import LEAD, Pattern, instants
from .fleet import Fleet, Setting, lateness
from .model import PIPE, Costs
from .queues import Times

JOBS: Final = 10_000_000
NODES: Final = 100
HOUR: Final = 3600.0
GLANCE: Final = 0.25
STEADY_SECONDS: Final = 3.0
"""How much of a steady hour is played: it looks like all of it."""

DATABASES: Final = (4, 16, 64)
"""Cores of the databases that a fleet of 100 is played on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """
    What came of one fleet: how many fires, how late they began, how busy its parts were.

    `backlog` are pairs of a second and by how many the oldest fire that waits then is late.
    """

    play: str
    name: str
    engine: str
    fires: int
    p50: float
    p99: float
    most: float
    database: float
    nodes: float
    pipe: float
    rows: float
    looks: float
    seconds: float
    own: float
    backlog: Sequence[tuple[float, float]] = field(default=(), repr=False)


Play: TypeAlias = Callable[[Mapping[str, Any]], Iterator[Played]]


def play(label: tuple[str, str], setting: Setting, costs: Costs, due: Times) -> Played:
    """Play a fleet through until all that was due is written, and account for it."""
    began = time.process_time()
    fleet = Fleet(setting, costs, due)
    backlog: list[tuple[float, float]] = []
    fleet.environment.process(_watched(fleet, backlog))
    fleet.run()
    if fleet.unaccounted() or fleet.finished != len(due):
        raise AssertionError(f"{fleet.unaccounted()} fires of {len(due)} are nowhere, {fleet.finished} finished")
    late, now = lateness(fleet), fleet.now
    cores = [node.core.busy(now) for node in (*fleet.nodes, *fleet.retired)]
    p50, p99 = np.percentile(late, [50, 99])
    return Played(
        play=label[0],
        name=label[1],
        engine=costs.engine,
        fires=len(due),
        p50=float(p50),
        p99=float(p99),
        most=float(late[-1]),
        database=fleet.database.busy(now) / (fleet.database.count * now),
        nodes=sum(cores) / (len(fleet.nodes) * now),
        pipe=fleet.pipe.busy(now) / now,
        rows=len(due) * len(costs.stages) / max(1, fleet.calls),
        looks=fleet.looks / now,
        seconds=now - LEAD,
        own=time.process_time() - began,
        backlog=backlog,
    )


def _watched(fleet: Fleet, backlog: list[tuple[float, float]]) -> Any:  # noqa: ANN401 - a process of the simulation
    while True:
        oldest = min((at for at in (fleet.due.next, fleet.waiting.oldest) if at is not None), default=fleet.now)
        backlog.append((fleet.now - LEAD, max(0.0, fleet.now - oldest)))
        yield fleet.environment.timeout(GLANCE)


def _checked(found: Mapping[str, Any]) -> Iterator[Played]:
    """Play what is measured on a small machine too: a burst on one node, a small fleet."""
    for engine in _shared(found):
        costs = Costs.read(engine, found)
        due = instants(Pattern.AT_ONCE, jobs=10_000, every=1.0, seconds=1.0)
        yield play(("checks", "burst of 10,000, 1 node"), Setting(nodes=1, timers=1, cores=1), costs, due)
    costs = Costs.read("postgres", found)
    due = LEAD + np.repeat(np.arange(30.0), 20)
    yield play(("checks", "20 each second, 10 nodes"), Setting(nodes=10, timers=10, cores=1), costs, due)


def _steady(found: Mapping[str, Any]) -> Iterator[Played]:
    """Play 10,000,000 jobs that fire once an hour, at even distances: with a timer on each node, and on few."""
    for engine in _shared(found):
        costs = Costs.read(engine, found)
        due = instants(Pattern.UNIFORM, jobs=JOBS, every=HOUR, seconds=STEADY_SECONDS)
        for timers in (NODES, 2):
            for cores in DATABASES:
                name = f"uniform, {timers} timers, {cores} cores"
                yield play(("steady", name), Setting(nodes=NODES, timers=timers, cores=cores), costs, due)


def _minutely(found: Mapping[str, Any]) -> Iterator[Played]:
    """Play the same mean rate with all fires of a minute at its first instant."""
    for engine in _shared(found):
        costs = Costs.read(engine, found)
        due = instants(Pattern.MINUTE, jobs=JOBS, every=HOUR, seconds=120.0)
        for timers in (8, NODES):
            for cores in DATABASES:
                setting = Setting(nodes=NODES, timers=timers, cores=cores)
                yield play(("minute", f"on the minute, {timers} timers, {cores} cores"), setting, costs, due)


def _hourly(found: Mapping[str, Any]) -> Iterator[Played]:
    """Play all 10,000,000 at one instant."""
    costs = Costs.read("postgres", found)
    due = instants(Pattern.AT_ONCE, jobs=JOBS, every=HOUR, seconds=1.0)
    for cores in DATABASES[1:]:
        setting = Setting(nodes=NODES, timers=NODES, cores=cores)
        yield play(("hour", f"in one second, {cores} cores"), setting, costs, due)


def _killed(found: Mapping[str, Any]) -> Iterator[Played]:
    """Play the minutes with a node killed every ten seconds."""
    costs = Costs.read("postgres", found)
    due = instants(Pattern.MINUTE, jobs=JOBS, every=HOUR, seconds=120.0)
    kills = {LEAD + 1.0 + 10.0 * number: number for number in range(12)}
    setting = Setting(nodes=NODES, timers=NODES, cores=16, kills=kills)
    yield play(("kills", f"on the minute, {NODES} timers, 16 cores, a node killed each 10 s"), setting, costs, due)


def _knee(found: Mapping[str, Any]) -> Iterator[Played]:
    """Play rates up to what a database of 16 cores carries, and a little beyond."""
    for engine in _shared(found):
        costs = Costs.read(engine, found)
        full = costs.database_rate(16)
        for part in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1):
            due = instants(Pattern.UNIFORM, jobs=int(full * part * 10), every=10.0, seconds=10.0)
            setting = Setting(nodes=NODES, timers=NODES, cores=16)
            yield play(("knee", f"{part:.0%} of the rate of full batches"), setting, costs, due)


PLAYS: Final[Mapping[str, Play]] = {
    "checks": _checked,
    "steady": _steady,
    "minute": _minutely,
    "hour": _hourly,
    "kills": _killed,
    "knee": _knee,
}


def _shared(found: Mapping[str, Any]) -> list[str]:
    """List the engines that nodes may share, the one with a pipe last."""
    return sorted((name for name in found["engines"] if name != "sqlite"), key=lambda name: PIPE in name)
