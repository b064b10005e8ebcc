from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from tests.application.rig import Rig
from tocsin.domain.event import Call, EventHandler, EventHandlerDefinition
from tocsin.domain.job import JobStatus
from tocsin.domain.patterns import NAME_BOUNDS
from tocsin.ports.conflicts import OnConflict


@pytest.fixture
def calls(rig: Rig) -> list[object]:
    """What the handlers `one` and `two` were called with."""
    seen: list[object] = []
    rig.handle("one", lambda context: seen.append(context.payload))
    rig.handle("two", lambda context: seen.append(context.payload))
    return seen


async def declare(rig: Rig, handler_name: str = "one") -> EventHandler:
    """Declare a rule as a node does when it starts."""
    definition = EventHandlerDefinition(event="order.*", key="rule", action=Call(handler_name=handler_name))
    return await rig.scheduler.on_event(definition, on_conflict=OnConflict.REPLACE)


def own_job(rule: EventHandler) -> UUID:
    assert isinstance(rule.definition.action, Call)
    assert rule.definition.action.job_id is not None
    return rule.definition.action.job_id


@pytest.mark.usefixtures("calls")
async def test_of_two_updates_at_once_neither_is_lost(rig: Rig) -> None:
    rule = await declare(rig)
    store = rig.storage.event_handlers
    read = store.get

    async def slow_get(tenant_id: str, handler_id: UUID) -> EventHandler:
        found = await read(tenant_id, handler_id)
        await asyncio.sleep(0)
        return found

    store.get = slow_get  # type: ignore[method-assign]  # so that both read before either writes
    await asyncio.gather(
        rig.scheduler.update_event_handler(rule.id, priority=7),
        rig.scheduler.update_event_handler(rule.id, name="both"),
    )

    changed = await rig.scheduler.get_event_handler(rule.id)
    assert (changed.definition.priority, changed.definition.name, changed.version) == (7, "both", 3)


@pytest.mark.parametrize("ending", ["cancel_job", "unschedule"])
async def test_a_declaration_that_finds_its_own_job_ended_has_another(
    rig: Rig, calls: list[object], ending: str
) -> None:
    rule = await declare(rig)
    await getattr(rig.scheduler, ending)(own_job(rule))

    changed = await declare(rig, "two")
    await rig.scheduler.trigger_event("order.created")
    await rig.work()

    assert own_job(changed) != own_job(rule)
    job = await rig.scheduler.get_job(own_job(changed))
    assert (job.status, job.definition.handler_name) == (JobStatus.ACTIVE, "two")
    assert len(calls) == 1


async def test_a_job_of_its_own_that_is_there_is_kept(rig: Rig, calls: list[object]) -> None:
    rule = await declare(rig)

    changed = await declare(rig, "two")

    assert own_job(changed) == own_job(rule)
    assert (await rig.scheduler.get_job(own_job(rule))).definition.handler_name == "two"
    assert calls == []


@pytest.mark.usefixtures("calls")
async def test_the_longest_pattern_makes_no_name_that_is_too_long_for_a_job(rig: Rig) -> None:
    pattern = "a" * NAME_BOUNDS[1]

    rule = await rig.scheduler.on_event(EventHandlerDefinition(event=pattern, action=Call(handler_name="one")))

    assert (await rig.scheduler.get_job(own_job(rule))).definition.name == f"on {pattern}"[:255]
