from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.application.rig import Notes
from tocsin.adapters.system import ManualClock
from tocsin.application.bell import Bell
from tocsin.application.loop import FIRST_BACKOFF, LONGEST_BACKOFF, Loop
from tocsin.domain.errors import StoreUnavailable


class WaitingBell(Bell):
    """A bell that keeps how long it was asked to wait, and never waits for time to pass."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    async def wait(self, seconds: float | None) -> bool:
        self.waits.append(seconds)
        return await super().wait(0)


@dataclass
class Script:
    """An agent whose rounds go as written; after the last it stops its loop."""

    rounds: list[float | Exception | None]
    stop: Callable[[], None] = lambda: None
    played: int = field(default=0)

    async def run_once(self) -> float | None:
        step = self.rounds[self.played]
        self.played += 1
        if self.played == len(self.rounds):
            self.stop()
        if isinstance(step, Exception):
            raise step
        return step


def scripted(*rounds: float | Exception | None) -> tuple[Loop, WaitingBell, Notes]:
    agent, bell, notes = Script(list(rounds)), WaitingBell(), Notes()
    loop = Loop(name="timer", agent=agent, clock=ManualClock(), telemetry=notes, cap=5.0, bell=bell)
    agent.stop = loop.stop
    return loop, bell, notes


async def test_a_loop_waits_until_the_next_due_time_and_no_longer_than_its_cap() -> None:
    loop, bell, _ = scripted(2.5, None, 60.0, 0.0, -3.0, 1.0)

    await loop.run()

    assert bell.waits == [2.5, 5.0, 5.0, 1.0]


async def test_failing_rounds_are_repeated_ever_later_and_never_end_the_loop() -> None:
    down = [StoreUnavailable("no answer")] * 8
    loop, bell, notes = scripted(*down, None, RuntimeError("surprise"), None)

    await loop.run()

    doubled = [min(FIRST_BACKOFF * 2**n, LONGEST_BACKOFF) for n in range(8)]
    assert bell.waits == [*doubled, 5.0, FIRST_BACKOFF, 5.0]
    assert [said["failed_rounds"] for said in notes.of("loop.failed")] == [1, 1]
    assert loop.pulse.error is None


async def test_a_server_that_stays_away_is_told_at_once_then_each_minute_and_when_it_is_back() -> None:
    clock, notes = ManualClock(), Notes()
    errors = [StoreUnavailable("no answer"), StoreUnavailable("out of reach")]

    class Agent:
        played = 0

        async def run_once(self) -> float | None:
            clock.advance(5)
            self.played += 1
            if self.played == 31:
                loop.stop()
                return None
            raise errors[self.played % 2]

    loop = Loop(name="timer", agent=Agent(), clock=clock, telemetry=notes, cap=1.0, bell=WaitingBell())
    await loop.run()

    told = notes.of("loop.failed")
    assert [(said["failed_rounds"], said["seconds"]) for said in told] == [(1, 0), (13, 60), (25, 120)]
    assert all("exc_info" not in said for said in told)
    assert notes.lines[-1] == ("info", "loop.recovered", {"loop": "timer", "failed_rounds": 30, "seconds": 150})


async def test_surprises_are_told_with_where_they_came_from_and_each_kind_once() -> None:
    surprises: list[float | Exception | None] = [ValueError(f"row {number} is poison") for number in range(9)]
    loop, _, notes = scripted(*surprises, KeyError("another"), StoreUnavailable("away"), *surprises, None)
    await loop.run()

    told = notes.of("loop.failed")
    assert [said["error"] for said in told] == [
        "ValueError: row 0 is poison",
        "KeyError: 'another'",
        "StoreUnavailable: away",
    ]
    assert [said.get("exc_info") for said in told[:2]] == [surprises[0], told[1]["exc_info"]]
    assert isinstance(told[1]["exc_info"], KeyError)


async def test_a_pulse_says_why_the_latest_round_failed_but_repeats_no_foreign_message() -> None:
    loop, _, notes = scripted(StoreUnavailable("/srv/tocsin.db did not answer: disk I/O error"))
    await loop.run()
    assert loop.pulse.error == "UNAVAILABLE; the log says more"

    loop, _, notes = scripted(RuntimeError("password=hunter2"))
    await loop.run()
    assert loop.pulse.error == "unexpected RuntimeError; the log says more"
    assert notes.of("loop.failed")[0]["error"] == "RuntimeError: password=hunter2"


async def test_only_a_completed_round_is_a_beat() -> None:
    clock = ManualClock()
    beats: list[float] = []

    class Agent:
        async def run_once(self) -> float | None:
            beats.append(loop.pulse.beat_at)
            clock.advance(10)
            if len(beats) == 2:
                raise RuntimeError("no")
            if len(beats) == 4:
                loop.stop()
            return 0.0

    loop = Loop(name="timer", agent=Agent(), clock=clock, telemetry=Notes(), cap=1.0, bell=WaitingBell())
    await loop.run()

    assert [*beats, loop.pulse.beat_at] == [0, 10, 10, 30, 40]


async def test_a_ring_wakes_a_loop_that_would_wait_for_long() -> None:
    rounds = 0
    second = asyncio.Event()

    class Agent:
        async def run_once(self) -> float | None:
            nonlocal rounds
            rounds += 1
            if rounds == 2:
                second.set()
            return None

    loop = Loop(name="timer", agent=Agent(), clock=ManualClock(), telemetry=Notes(), cap=3600.0)
    running = asyncio.create_task(loop.run())
    loop.bell.ring()

    await second.wait()
    loop.stop()
    await running


async def test_a_loop_that_is_always_due_leaves_room_for_others_and_can_be_stopped() -> None:
    class Agent:
        async def run_once(self) -> float | None:
            return 0.0

    loop = Loop(name="timer", agent=Agent(), clock=ManualClock(), telemetry=Notes(), cap=1.0)
    running = asyncio.create_task(loop.run())

    await asyncio.sleep(0)
    loop.stop()
    await running


async def test_a_ring_while_nobody_waits_is_kept_for_one_wait() -> None:
    bell = Bell()
    bell.ring()
    bell.ring()

    assert await bell.wait(0) is True
    assert await bell.wait(0) is False
