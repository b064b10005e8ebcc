"""How often an alarm has the loop go round, and when it rings."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tests.application.stepped_loop import ROUND, SteppedLoop, stepped
from tests.makers import START
from tocsin.adapters.system import ManualClock
from tocsin.application.alarm import EXACT_EVERY_SECONDS, LOOP_TICK_SECONDS, NEVER, Alarm

A_WHILE = 1.0


class LoopClock(ManualClock):
    """The clock of the loop that runs."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


@dataclass(slots=True)
class Rings:
    """When an alarm has rung, which is set to further instants as it rings."""

    instants: list[float] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    alarm: Alarm | None = None

    def ring(self, now: float) -> None:
        self.at.append(now)
        if self.alarm is not None and self.instants:
            self.alarm.at(self.instants.pop(0))


async def rings_of(clock: ManualClock, *instants: float) -> tuple[list[float], int]:
    """Set an alarm to instants, each once the one before has rung; answer when it rang, and the rounds of the loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteppedLoop)
    rings = Rings(list(instants[1:]))
    rings.alarm = Alarm(clock=clock, ring=rings.ring)
    before = loop.rounds
    rings.alarm.at(instants[0])
    await asyncio.sleep(A_WHILE)
    return rings.at, loop.rounds - before


def test_it_rings_on_the_instant_and_goes_round_the_loop_for_a_tick_at_most() -> None:
    [at], gone_round = stepped(rings_of(LoopClock(START), 0.5004))

    assert 0 <= at - 0.5004 <= 2 * ROUND
    assert gone_round <= 2 * LOOP_TICK_SECONDS / ROUND + 10


def test_of_instants_that_are_near_each_other_one_is_met_exactly_and_the_others_cost_few_rounds() -> None:
    instants = [0.5004 + place * LOOP_TICK_SECONDS * 1.5 for place in range(10)]

    rung, gone_round = stepped(rings_of(LoopClock(START), *instants))

    assert all(0 <= at - instant <= 2 * LOOP_TICK_SECONDS for at, instant in zip(rung, instants, strict=True))
    assert gone_round <= 2 * LOOP_TICK_SECONDS / ROUND + 10 * len(instants)


def test_an_instant_that_a_standing_clock_never_reaches_costs_no_more_than_its_share() -> None:
    clock = ManualClock(START)

    rung, gone_round = stepped(rings_of(clock, clock.monotonic() + LOOP_TICK_SECONDS / 2))

    assert rung == []
    assert gone_round <= EXACT_EVERY_SECONDS / ROUND + 2 * A_WHILE / LOOP_TICK_SECONDS


def test_a_sooner_instant_takes_the_place_of_a_later_one() -> None:
    rings = Rings()
    alarm = Alarm(clock=LoopClock(START), ring=rings.ring)

    async def set_twice() -> None:
        alarm.at(0.5)
        alarm.at(0.25)
        await asyncio.sleep(A_WHILE)

    stepped(set_twice())

    [at] = rings.at
    assert 0 <= at - 0.25 <= 2 * ROUND
    assert alarm.instant == NEVER
