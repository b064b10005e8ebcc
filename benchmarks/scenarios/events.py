"""How fast events come in, and how far one of them reaches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from tocsin import Call, EventHandlerDefinition, NewEvent
from tocsin.application.scheduler import Scheduler

from ..engines import Place
from ..figures import Figure, rate, spread
from ..handlers import NOOP, tally
from ..measuring import measured
from ..nodes import node
from ..scenario import Case, Options, Scenario
from ..stored import assert_amount, quiet

BATCH: Final = 500
PUBLISHERS: Final = 4
NAME: Final = "benchmark.happened"


async def _fan_out(place: Place, options: Options) -> Sequence[Figure]:
    """Publish one event after the other, each once all handlers of the one before have run."""
    handlers, events, took = options["handlers"], options["events"], list[float]()
    async with node(place) as assembly:
        await _subscribe(assembly.scheduler, handlers)
        await assembly.start()
        with measured(place) as measurement:
            for _ in range(events):
                tally.expect(handlers)
                started = time.perf_counter()
                await assembly.scheduler.trigger_event(NAME)
                await tally.reached()
                took.append((time.perf_counter() - started) * 1000)
            await quiet(assembly.scheduler)
    amount = handlers * events
    await assert_amount(place, amount)
    return [
        *spread("publishing to the last handler", took, "ms"),
        rate("handlers", amount / measurement.stop()),
        *measurement.costs(amount, "handler"),
    ]


async def _in(place: Place, options: Options) -> Sequence[Figure]:
    """Publish batches from several publishers at once, with one handler that takes them all."""
    amount = options["events"]
    batches = iter(range(0, amount, BATCH))
    tally.expect(amount)
    async with node(place) as assembly:
        await _subscribe(assembly.scheduler, 1)
        await assembly.start()

        async def publish() -> None:
            for first in batches:
                some = [NewEvent(name=NAME, data={"number": first + number}) for number in range(BATCH)]
                await assembly.scheduler.trigger_events(some)

        with measured(place) as measurement:
            await asyncio.gather(*(publish() for _ in range(PUBLISHERS)))
            accepted = time.perf_counter() - measurement.started
            await tally.reached()
            await quiet(assembly.scheduler)
    await assert_amount(place, amount)
    return [
        rate("events in", amount / accepted),
        rate("events handled to their end", amount / measurement.stop()),
        *measurement.costs(amount, "event"),
    ]


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    return await (_fan_out if "handlers" in options else _in)(place, options)


async def _subscribe(scheduler: Scheduler, handlers: int) -> None:
    for number in range(handlers):
        action = Call(handler_name=NOOP)
        await scheduler.on_event(EventHandlerDefinition(event=NAME, name=f"handler {number}", action=action))


def _fan_outs(executions: int) -> list[Case]:
    """Size the cases so that each comes to that many executions, but to no more than 200 events."""
    return [
        Case(name=f"1 event to {each:,}", options={"handlers": each, "events": min(200, max(3, executions // each))})
        for each in (1, 10, 100, 1_000)
    ]


EVENTS: Final = Scenario(
    name="events",
    summary="events to 1 to 1,000 handlers each, and events in batches of 500 to one handler",
    run=_run,
    cases=[*_fan_outs(10_000), Case(name="10,000 in batches", options={"events": 10_000})],
    quick=[*_fan_outs(500), Case(name="2,000 in batches", options={"events": 2_000})],
    headlines=["publishing to the last handler p50", "handlers", "events in"],
)
