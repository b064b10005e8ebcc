from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import psutil
import pytest

from tocsin.adapters.cel import CelExpressions, open_cel
from tocsin.domain.json import Json
from tocsin.ports.expressions import Failed

MANY: Json = {"l": list(range(5000))}
SLOW = "event.l.all(x, event.l.all(y, y >= 0))"
TOO_LONG = Failed("it takes longer than 250 ms")


@pytest.fixture
async def cel() -> AsyncIterator[CelExpressions]:
    async with open_cel() as expressions:
        yield expressions


def evaluators() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if _is_evaluator(child)]


def _is_evaluator(process: psutil.Process) -> bool:
    try:
        return any(part.endswith("evaluator.py") for part in process.cmdline())
    except psutil.Error:
        return False


async def test_a_slow_expression_is_ended_while_the_loop_goes_on(cel: CelExpressions) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    [outcome] = await cel.evaluate([SLOW], {"event": MANY})
    ticking.cancel()

    assert outcome == TOO_LONG
    assert ticks >= 10


async def test_a_slow_expression_leaves_its_neighbours_alone(cel: CelExpressions) -> None:
    asked = ["event.l.all(x, x >= 0)", SLOW, "event.l.exists(x, x == 7)", "event.l[3]"]

    outcomes = await cel.evaluate(asked, {"event": MANY})

    assert outcomes == [True, TOO_LONG, True, 3]


async def test_what_was_slow_once_is_waited_for_by_nobody_else(cel: CelExpressions) -> None:
    slow = [f"{SLOW} || {number} == 0" for number in range(1, 9)]
    await cel.evaluate(slow, {"event": MANY})
    order: list[str] = []

    async def ask(name: str, expressions: list[str]) -> None:
        await cel.evaluate(expressions, {"event": MANY})
        order.append(name)

    async with asyncio.TaskGroup() as asking:
        asking.create_task(ask("slow", slow))
        for number in range(20):
            asking.create_task(ask("quick", [f"event.l.exists(x, x == {number})"]))

    assert order == ["quick"] * 20 + ["slow"]


async def test_of_two_events_none_waits_for_all_that_the_other_has_to_do(cel: CelExpressions) -> None:
    order: list[str] = []

    async def ask(name: str, expressions: list[str]) -> None:
        await cel.evaluate(expressions, {"event": MANY})
        order.append(name)

    async with asyncio.TaskGroup() as asking:
        asking.create_task(ask("slow", [f"{SLOW} || {number} == 0" for number in range(1, 5)]))
        asking.create_task(ask("quick", ["event.l.exists(x, x == 1)"]))

    assert order == ["quick", "slow"]


@pytest.mark.parametrize(
    "expression",
    [
        "event.l.map(x, event.l.map(y, [event.l, event.l, event.l]))",
        "lists.range(8000000).map(x, x)",
        "'x'.matches('((a{100}){100}){100}')",
        "['" + "a" * 900 + "'].map(x, [x,x,x,x,x,x,x,x].map(y, event.l.map(z, y + y + y)))",
        "[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, event.l.all(c, event.l.all(d, true))))",
    ],
)
async def test_what_takes_too_much_is_a_failure_of_that_expression_alone(cel: CelExpressions, expression: str) -> None:
    outcomes = await cel.evaluate([expression, "event.l.exists(x, x == 1)"], {"event": MANY})

    assert isinstance(outcomes[0], Failed)
    assert outcomes[1] is True


async def test_a_crash_fails_one_expression_and_the_next_one_finds_another_process(cel: CelExpressions) -> None:
    await cel.evaluate(["event.l.exists(x, x == 1)"], {"event": MANY})
    [process] = evaluators()
    process.suspend()
    asked = asyncio.create_task(
        cel.evaluate(["event.l.exists(x, x == 2)", "event.l.exists(x, x == 3)"], {"event": MANY})
    )
    await asyncio.sleep(0)
    process.send_signal(signal.SIGSEGV)
    process.resume()

    outcomes = await asked

    assert outcomes == [Failed("its evaluation crashed, or needs too much memory"), True]


async def test_a_process_that_ended_while_idle_is_noticed_by_one_expression_at_most(cel: CelExpressions) -> None:
    await cel.evaluate(["event.l.exists(x, x == 1)"], {"event": MANY})
    [process] = evaluators()
    process.kill()
    process.wait()

    outcomes = await cel.evaluate(["event.l.exists(x, x == 2)", "event.l.exists(x, x == 3)"], {"event": MANY})

    assert outcomes[1] is True


async def test_hundreds_of_events_at_once_all_have_their_answers(cel: CelExpressions) -> None:
    asked = [
        cel.evaluate(
            ["event.l.exists(x, x == 299)", "event.l[0]", "event.l.matches('x')"], {"event": {"l": [number, 299]}}
        )
        for number in range(300)
    ]

    outcomes = await asyncio.gather(*asked)

    assert [found[:2] for found in outcomes] == [[True, number] for number in range(300)]
    assert len(evaluators()) <= 2


async def test_a_caller_that_gives_up_holds_up_nobody(cel: CelExpressions) -> None:
    given_up = asyncio.create_task(cel.evaluate([SLOW, SLOW + " || false"], {"event": MANY}))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])

    assert await cel.evaluate(["event.l.exists(x, x == 1)"], {"event": MANY}) == [True]
    assert given_up.cancelled()


async def test_a_process_is_started_only_when_it_is_needed_and_gone_afterwards() -> None:
    async with open_cel() as cel:
        await cel.evaluate(["event.l[0] == 0"], {"event": {"l": [0]}})
        assert evaluators() == []
        await cel.evaluate(["event.l.all(x, x == 0)"], {"event": {"l": [0]}})
        assert len(evaluators()) == 1

    assert evaluators() == []
    assert await cel.evaluate(["[1].all(x, true)"], {"event": None}) == [Failed("the node is stopping")]


async def test_the_end_waits_for_no_expression() -> None:
    async with open_cel() as cel:
        slow = [f"{SLOW} || {number} == 0" for number in range(1, 500)]
        asked = asyncio.create_task(cel.evaluate(slow, {"event": MANY}))
        await cel.evaluate(["event.l.exists(x, x == 1)"], {"event": MANY})

    outcomes = await asked

    assert outcomes[-1] == Failed("the node is stopping")
    assert evaluators() == []


async def test_the_process_has_no_environment_and_no_terminal_of_the_node(
    cel: CelExpressions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN_SECRET", "hunter2")
    await cel.evaluate(["[1].all(x, true)"], {"event": None})
    [process] = evaluators()

    environment = process.environ()

    assert "hunter2" not in environment.values()
    assert set(environment) <= {"LD_LIBRARY_PATH", "LC_CTYPE"}
    assert process.cwd() == "/"
    assert os.getsid(process.pid) == process.pid


async def test_the_process_has_its_three_descriptors_and_no_more(cel: CelExpressions) -> None:
    await cel.evaluate(["[1].all(x, true)"], {"event": None})
    [process] = evaluators()

    assert process.num_fds() == 3


PARENT = """
import asyncio, os, psutil, signal
from tocsin.adapters.cel import open_cel
async def main():
    async with open_cel() as cel:
        await cel.evaluate(["[1].all(x, true)"], {"event": None})
        print(psutil.Process().children()[0].pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


async def test_the_process_ends_with_a_node_that_is_killed() -> None:
    node = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE)
    said, _ = await node.communicate()

    assert node.returncode == -signal.SIGKILL
    try:
        await asyncio.to_thread(psutil.Process(int(said)).wait, 10)
    except psutil.NoSuchProcess:
        return
