"""Rounds: each system in turn, again and again, so that what drifts on the machine hits all alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import asyncpg
from redis.exceptions import RedisError

from tocsin import TocsinError

from ..engines import Servers
from ..figures import Figure
from .punctuality import burst, one_shots
from .systems import System, Test
from .throughput import drain, insert
from .trial import Trial, TrialFailed

MEASURES: Final[Mapping[Test, Callable[[Trial], Awaitable[Sequence[Figure]]]]] = MappingProxyType(
    {Test.DRAIN: drain, Test.INSERT: insert, Test.BURST: burst, Test.ONE_SHOT: one_shots}
)
SIZES: Final[Mapping[Test, Sequence[int]]] = MappingProxyType(
    {Test.DRAIN: (20_000,), Test.INSERT: (10_000,), Test.BURST: (1_000, 10_000), Test.ONE_SHOT: (200,)}
)
QUICK_SIZES: Final[Mapping[Test, Sequence[int]]] = MappingProxyType(
    {Test.DRAIN: (2_000,), Test.INSERT: (1_000,), Test.BURST: (200,), Test.ONE_SHOT: (40,)}
)
FAILURES: Final = (TrialFailed, AssertionError, OSError, asyncpg.PostgresError, RedisError, TocsinError)
"""What ends one run and not all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test in one size."""

    test: Test
    jobs: int

    def fitted(self, system: System) -> int | None:
        """How many jobs the system gets; None if it has no part in this."""
        setup = system.setups.get(self.test)
        if setup is None:
            return None
        if setup.at_most is None or self.jobs <= setup.at_most:
            return self.jobs
        return None if self.test is Test.BURST else setup.at_most


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one system in one round: figures, or why there are none."""

    case: Case
    system: System
    round: int
    figures: Sequence[Figure] = ()
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """What is to be run; `systems` all have a part in at least one case."""

    systems: Sequence[System]
    cases: Sequence[Case]
    runs: int

    def outcomes(self, servers: Servers) -> Iterator[Outcome]:
        """Run; who is first in a round is last in the next."""
        for case in self.cases:
            taking_part = [system for system in self.systems if case.fitted(system) is not None]
            for number in range(self.runs):
                first = number % len(taking_part) if taking_part else 0
                for system in (*taking_part[first:], *taking_part[:first]):
                    yield _outcome(servers, Outcome(case=case, system=system, round=number + 1))


def _outcome(servers: Servers, outcome: Outcome) -> Outcome:
    case, system = outcome.case, outcome.system
    with servers.fresh(system.engine) as place:
        jobs = case.fitted(system) or 0
        trial = Trial(system=system, setup=system.setups[case.test], place=place, jobs=jobs, seed=outcome.round)
        try:
            return replace(outcome, figures=asyncio.run(_measured(trial, case.test)))
        except FAILURES as error:
            return replace(outcome, failure=str(error) or repr(error))


async def _measured(trial: Trial, test: Test) -> Sequence[Figure]:
    return await MEASURES[test](trial)
