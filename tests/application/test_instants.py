"""When a node begins what it claimed ahead of its time, and what it costs to be that exact."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from tests.application.rig import Notes
from tests.application.stepped_loop import ROUND, SteppedLoop, stepped
from tests.makers import START, a_definition
from tocsin.adapters.handlers.catalog import LocalHandlers
from tocsin.adapters.handlers.functions import FunctionRegistry
from tocsin.adapters.memory import InProcessDispatcher, memory_storage
from tocsin.adapters.system import ManualClock
from tocsin.application.alarm import EXACT_EVERY_SECONDS, LOOP_TICK_SECONDS
from tocsin.application.attempts import Attempts
from tocsin.application.bell import Bell
from tocsin.application.ends import Ends
from tocsin.application.journal import Journal
from tocsin.domain.attempt import Attempt
from tocsin.domain.json import Json
from tocsin.ports.clock import Clock

A_WHILE = 1.0
ROUNDS_OF_A_TICK = LOOP_TICK_SECONDS / ROUND


class LoopClock:
    """The clock of the loop that runs (`ports.clock.Clock`)."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


async def nothing() -> dict[str, Json]:
    return {}


def node(clock: Clock, function: Callable[[], Awaitable[None]], *, capacity: int = 100) -> Attempts:
    """What a node holds, over a store that knows nothing of it, with one handler."""
    functions, notes = FunctionRegistry(), Notes()
    functions.handler("report")(function)
    journal = Journal(clock.now)
    room = Bell()
    return Attempts(
        handlers=LocalHandlers(health=nothing, retention=nothing, functions=functions),
        clock=clock,
        telemetry=notes,
        journal=journal,
        ends=Ends(
            ledger=memory_storage(clock).ledger,
            dispatcher=InProcessDispatcher(),
            telemetry=notes,
            journal=journal,
            bell=Bell(),
            written=room,
            retrying=Bell(),
        ),
        room=room,
        capacity=capacity,
    )


def claimed_at(clock: Clock, ahead: Sequence[float]) -> list[Attempt]:
    """Attempts that were claimed just now, each so many seconds ahead of its instant."""
    now = clock.now()
    return [
        Attempt(
            definition=a_definition(handler_name="report"),
            execution_id=UUID(int=number),
            job_id=UUID(int=1),
            tenant_id="default",
            payload=None,
            attempt=1,
            failures=0,
            max_retries=0,
            scheduled_at=now + timedelta(seconds=seconds),
            started_at=now + timedelta(seconds=seconds),
            claimed_at=now,
        )
        for number, seconds in enumerate(ahead)
    ]


def rounds() -> int:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteppedLoop)
    return loop.rounds


async def begun(ahead: Sequence[float]) -> tuple[list[float], int]:
    """Claim attempts and let them begin; answer how late each did, and how often the loop went round for them."""
    clock = LoopClock()
    instants: list[float] = []

    async def note() -> None:
        instants.append(clock.monotonic())

    attempts = node(clock, note)
    first, claimed = rounds(), clock.monotonic()
    attempts.take_in(claimed_at(clock, ahead), claimed)
    await asyncio.sleep(A_WHILE)
    due = sorted(claimed + each for each in ahead)
    return [at - instant for at, instant in zip(instants, due, strict=True)], rounds() - first


@pytest.mark.parametrize("ahead", [0.0004, 0.0013, 0.0504, 0.3337])
def test_what_was_claimed_ahead_begins_on_its_instant_and_not_a_tick_later(ahead: float) -> None:
    [late], gone_round = stepped(begun([ahead]))

    assert 0 <= late <= 5 * ROUND
    assert gone_round <= 2 * ROUNDS_OF_A_TICK + 10


def test_instants_that_are_far_enough_apart_are_all_met() -> None:
    ahead = [place * 2 * EXACT_EVERY_SECONDS + 0.0104 for place in range(20)]

    late, _ = stepped(begun(ahead))

    assert 0 <= min(late) <= max(late) <= 5 * ROUND


def test_of_instants_close_together_few_are_met_so_exactly_and_none_begins_before_its_time() -> None:
    ahead = [0.01 + place * 0.0017 for place in range(300)]
    exact = (ahead[-1] - ahead[0]) / EXACT_EVERY_SECONDS + 1

    late, gone_round = stepped(begun(ahead))

    assert 0 <= min(late) <= max(late) <= 2 * LOOP_TICK_SECONDS
    assert gone_round <= exact * 2 * ROUNDS_OF_A_TICK + 10 * len(ahead)
    assert all(later <= 2 * LOOP_TICK_SECONDS for later, _ in pairwise(late))


def test_a_node_without_a_place_waits_for_one_and_does_nothing_else_meanwhile() -> None:
    async def work() -> tuple[int, list[float]]:
        clock, gate = LoopClock(), asyncio.Event()
        instants: list[float] = []

        async def wait() -> None:
            instants.append(clock.monotonic())
            await gate.wait()

        attempts = node(clock, wait, capacity=1)
        attempts.take_in(claimed_at(clock, [0.0, 0.01, 0.02]), clock.monotonic())
        first = rounds()
        await asyncio.sleep(A_WHILE)
        gone_round, opened = rounds() - first, clock.monotonic()
        assert len(instants) == 1
        gate.set()
        await asyncio.sleep(A_WHILE)
        return gone_round, [at - opened for at in instants[1:]]

    gone_round, waited = stepped(work())

    assert gone_round <= 2 * ROUNDS_OF_A_TICK + 20
    assert len(waited) == 2
    assert max(waited) <= 10 * ROUND


def test_what_waits_for_a_place_takes_up_the_place_of_what_might_be_claimed() -> None:
    async def work() -> tuple[int, int]:
        clock, gate = LoopClock(), asyncio.Event()

        async def wait() -> None:
            await gate.wait()

        attempts = node(clock, wait, capacity=2)
        attempts.take_in(claimed_at(clock, [0.0, 0.01, 0.02]), clock.monotonic())
        early = attempts.places()
        await asyncio.sleep(A_WHILE)
        attempts.begin_due()
        late = attempts.places()
        gate.set()
        return early, late

    assert stepped(work()) == (1, -1)


def test_a_clock_that_stands_still_just_before_an_instant_keeps_no_loop_busy() -> None:
    async def work() -> tuple[int, int]:
        clock = ManualClock(START)
        attempts = node(clock, lambda: asyncio.sleep(0))
        attempts.take_in(claimed_at(clock, [LOOP_TICK_SECONDS / 2]), clock.monotonic())
        first = rounds()
        await asyncio.sleep(A_WHILE)
        gone_round = rounds() - first
        clock.advance(LOOP_TICK_SECONDS)
        await asyncio.sleep(2 * LOOP_TICK_SECONDS)
        return gone_round, attempts.ends.unwritten

    gone_round, ended = stepped(work())

    assert gone_round <= EXACT_EVERY_SECONDS / ROUND + 2 * A_WHILE / LOOP_TICK_SECONDS
    assert ended == 1
