from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

from tests.makers import START, new_id
from tocsin.adapters.memory import InProcessDispatcher
from tocsin.adapters.system import ManualClock
from tocsin.ports.dispatcher import Dispatch, Dispatcher

RUNS = frozenset({"function/report"})
PATIENT = 60.0


def a_dispatch(
    *, capability: str = "function/report", priority: int = 50, execution_id: UUID | None = None
) -> Dispatch:
    return Dispatch(execution_id=execution_id or new_id(START), capability=capability, priority=priority)


async def received(dispatcher: Dispatcher, *capabilities: str, limit: int = 100) -> list[Dispatch]:
    return [*await dispatcher.receive(capabilities=capabilities or RUNS, limit=limit, wait=0)]


async def lost(dispatcher: Dispatcher, *dispatches: Dispatch) -> list[Dispatch]:
    return [*await dispatcher.lost([(dispatch, START) for dispatch in dispatches])]


async def test_what_is_dispatched_is_received_once(dispatcher: Dispatcher) -> None:
    batch = [a_dispatch() for _ in range(3)]

    await dispatcher.dispatch(batch)

    assert await received(dispatcher) == batch
    assert await received(dispatcher) == []


async def test_urgent_bands_come_first_and_the_oldest_of_equal_priority(dispatcher: Dispatcher) -> None:
    low, high, older, younger = (a_dispatch(priority=priority) for priority in (10, 90, 50, 50))
    await dispatcher.dispatch([low, older])
    await dispatcher.dispatch([younger, high])

    assert await received(dispatcher) == [high, older, younger, low]


async def test_urgent_bands_come_first_across_capabilities(dispatcher: Dispatcher) -> None:
    first, second, third = a_dispatch(capability="http"), a_dispatch(), a_dispatch(capability="http", priority=75)
    await dispatcher.dispatch([first, second, third])

    urgent, *others = await received(dispatcher, "http", "function/report")
    assert urgent == third
    assert {each.execution_id for each in others} == {first.execution_id, second.execution_id}


async def test_a_receiver_gets_only_what_it_can_run(dispatcher: Dispatcher) -> None:
    mine, other = a_dispatch(), a_dispatch(capability="http", priority=100)
    await dispatcher.dispatch([other, mine])

    assert await received(dispatcher) == [mine]
    assert await received(dispatcher, "command") == []
    assert await received(dispatcher, "http") == [other]


async def test_no_more_than_the_limit_comes_at_once(dispatcher: Dispatcher) -> None:
    batch = [a_dispatch() for _ in range(5)]
    await dispatcher.dispatch(batch)

    assert await received(dispatcher, limit=2) == batch[:2]
    assert await received(dispatcher, limit=0) == []
    assert await received(dispatcher, limit=10) == batch[2:]


async def test_an_id_that_is_handed_on_again_before_it_is_received_comes_once(
    dispatcher: Dispatcher,
) -> None:
    dispatch = a_dispatch()
    for _ in range(3):
        await dispatcher.dispatch([dispatch, dispatch])

    assert await received(dispatcher) == [dispatch]
    assert await received(dispatcher) == []


async def test_an_id_can_come_again_after_it_was_received(dispatcher: Dispatcher) -> None:
    dispatch = a_dispatch()
    for _ in range(2):
        await dispatcher.dispatch([dispatch])
        assert await received(dispatcher) == [dispatch]
        await dispatcher.acknowledge([dispatch])


async def test_a_waiting_receiver_is_woken_by_what_it_can_run(dispatcher: Dispatcher) -> None:
    mine, other = a_dispatch(), a_dispatch(capability="http")
    waiting = asyncio.create_task(dispatcher.receive(capabilities=RUNS, limit=5, wait=PATIENT))
    await asyncio.sleep(0)

    await dispatcher.dispatch([other])
    await dispatcher.dispatch([mine])

    assert list(await waiting) == [mine]


async def test_each_of_many_waiting_receivers_gets_its_own(dispatcher: Dispatcher) -> None:
    batch = [a_dispatch() for _ in range(4)]
    waiting = [asyncio.create_task(dispatcher.receive(capabilities=RUNS, limit=1, wait=PATIENT)) for _ in range(4)]
    await asyncio.sleep(0)

    await dispatcher.dispatch(batch)

    answers = await asyncio.gather(*waiting)
    assert sorted(answer[0].execution_id for answer in answers) == [each.execution_id for each in batch]


async def test_a_receiver_that_waited_in_vain_gets_an_empty_list(dispatcher: Dispatcher) -> None:
    await dispatcher.dispatch([a_dispatch(capability="http")])

    assert list(await dispatcher.receive(capabilities=RUNS, limit=5, wait=0.001)) == []
    assert list(await dispatcher.receive(capabilities=[], limit=5, wait=0)) == []


async def test_what_a_cancelled_receiver_may_have_taken_comes_again_or_is_lost(dispatcher: Dispatcher) -> None:
    waiting = asyncio.create_task(dispatcher.receive(capabilities=RUNS, limit=5, wait=PATIENT))
    await asyncio.sleep(0)
    dispatch = a_dispatch()
    await dispatcher.dispatch([dispatch])
    waiting.cancel()
    [taken] = await asyncio.gather(waiting, return_exceptions=True)

    while isinstance(taken, asyncio.CancelledError) or not taken:
        taken = await dispatcher.receive(capabilities=RUNS, limit=5, wait=0.1) or await lost(dispatcher, dispatch)
    assert taken == [dispatch]


async def test_what_the_pipe_never_had_is_lost(dispatcher: Dispatcher) -> None:
    queued, delivered, unknown = a_dispatch(), a_dispatch(priority=90), a_dispatch()
    await dispatcher.dispatch([queued, delivered])
    assert await received(dispatcher, limit=1) == [delivered]

    assert await lost(dispatcher, queued, unknown) == [unknown]
    assert await lost(dispatcher, queued, unknown, delivered) in ([unknown], [unknown, delivered])
    assert await lost(dispatcher) == []


async def test_what_was_acknowledged_and_is_still_unclaimed_is_lost(dispatcher: Dispatcher) -> None:
    dispatch = a_dispatch()
    await dispatcher.dispatch([dispatch])
    await received(dispatcher)
    await dispatcher.acknowledge([dispatch, a_dispatch()])

    assert await lost(dispatcher, dispatch) == [dispatch]


async def test_an_id_is_another_thing_once_its_job_moved_to_another_capability(dispatcher: Dispatcher) -> None:
    before, gone = a_dispatch(capability="function/reprot"), a_dispatch(capability="function/reprot")
    await dispatcher.dispatch([before, gone])
    assert await received(dispatcher, "function/reprot", limit=1) == [before]
    after, gone_after = (each._replace(capability="function/report") for each in (before, gone))

    assert await lost(dispatcher, after, gone_after) == [after, gone_after]
    await dispatcher.dispatch([after, gone_after])

    assert await received(dispatcher) == [after, gone_after]
    await dispatcher.acknowledge([after])
    assert after in await lost(dispatcher, before, after)


async def test_what_a_process_cannot_run_when_it_is_handed_on_is_dropped() -> None:
    known: set[str] = set()
    dispatcher = InProcessDispatcher(capabilities=lambda: known)
    early, foreign, late = a_dispatch(), a_dispatch(capability="http"), a_dispatch()
    await dispatcher.dispatch([early, foreign])
    known |= RUNS
    await dispatcher.dispatch([late, foreign])

    assert await lost(dispatcher, early, foreign, late) == [early, foreign]
    assert await received(dispatcher, *RUNS, "http") == [late]


async def test_an_in_process_receiver_that_died_is_made_up_for() -> None:
    clock = ManualClock()
    dispatcher = InProcessDispatcher(redeliver_after=timedelta(seconds=30), monotonic=clock.monotonic)
    forgotten, kept = a_dispatch(), a_dispatch()
    await dispatcher.dispatch([forgotten, kept])
    await received(dispatcher)
    await dispatcher.acknowledge([kept])

    clock.advance(29)
    assert await received(dispatcher) == []
    clock.advance(1)
    assert await received(dispatcher) == [forgotten]
    assert await lost(dispatcher, forgotten) == []
