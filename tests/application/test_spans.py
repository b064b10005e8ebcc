from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.application.rig import Rig
from tests.makers import a_definition
from tocsin.adapters.telemetry.scope import surroundings
from tocsin.domain.execution import ExecutionStatus
from tocsin.domain.job import HandlerType
from tocsin.domain.trace import TraceContext, attempt_span_of, trace_of
from tocsin.ports.handlers import HandlerContext
from tocsin.ports.telemetry import SpanKind, SpanStart

CALLER = TraceContext(trace_id="4bf92f3577b34da6a3ce929d0e0e4736", span_id="00f067aa0ba902b7", tracestate="vendor=1")
SERVED = SpanStart(name="POST /api/v1/jobs", parent=CALLER)


def kept(rig: Rig, name: str) -> list[SpanStart]:
    return [span for span in rig.notes.spans if span.name.startswith(name)]


async def test_a_fire_begins_a_trace_that_is_linked_to_the_making_of_its_job(rig: Rig) -> None:
    rig.notes.records = True
    rig.handle("report", lambda: None)
    with rig.notes.span(SERVED) as served:
        job = await rig.scheduler.schedule(a_definition(handler_name="report"))
    rig.clock.advance(timedelta(minutes=1))
    await rig.timer.run_once()
    [execution] = await rig.history(job)
    [created] = kept(rig, "create")

    assert job.created_in == served.context
    assert (created.name, created.kind) == ("create report", SpanKind.PRODUCER)
    assert (created.trace_id, created.span_id) == (execution.trace_id, execution.span_id)
    assert execution.trace == trace_of(execution.id)
    assert created.parent is None
    assert list(created.links) == [served.context]
    assert created.started_at == execution.created_at


async def test_a_run_by_hand_goes_on_with_the_trace_of_whoever_asked(rig: Rig) -> None:
    rig.notes.records = True
    job = await rig.a_job(lambda: None)
    with rig.notes.span(SERVED) as served:
        execution = await rig.scheduler.trigger_job(job.id)
    [created] = kept(rig, "create")

    assert (execution.trace_id, execution.parent_span_id) == (CALLER.trace_id, served.context.span_id)
    assert execution.tracestate == "vendor=1"
    assert created.parent == served.context
    assert created.span_id == execution.span_id


async def test_the_same_request_again_records_nothing_again(rig: Rig) -> None:
    rig.notes.records = True
    job = await rig.a_job(lambda: None)
    await rig.scheduler.trigger_job(job.id, idempotency_key="once")
    await rig.scheduler.trigger_job(job.id, idempotency_key="once")

    assert len(kept(rig, "create")) == 1


async def test_each_attempt_is_a_span_under_its_execution_and_a_retry_is_linked_to_the_first(rig: Rig) -> None:
    rig.notes.records = True
    seen: list[TraceContext | None] = []

    async def fail_once(context: HandlerContext) -> None:
        seen.append(context.trace)
        if context.attempt == 1:
            raise ValueError("not yet")

    execution_id = await rig.trigger(await rig.a_job(fail_once, max_retries=1, retry_delay_ms=1))
    await rig.work()
    rig.clock.advance(timedelta(seconds=5))
    await rig.sweeper.run_once()
    await rig.work()
    execution = await rig.execution(execution_id)
    first, second = kept(rig, "process")

    assert execution.status is ExecutionStatus.SUCCESS
    assert execution.trace is not None
    assert [first.parent, second.parent] == [execution.trace, execution.trace]
    spans = [attempt_span_of(execution_id, attempt) for attempt in (1, 2)]
    assert [first.span_id, second.span_id] == spans
    assert [list(first.links), list(second.links)] == [[], [execution.trace.under(spans[0])]]
    assert seen == [execution.trace.under(span) for span in spans]
    assert first.kind is SpanKind.CONSUMER
    assert first.undecided
    assert (first.attributes or {})["messaging.message.id"] == str(execution_id)
    assert (second.attributes or {})["tocsin.attempt"] == 2


async def test_whether_a_trace_of_somebody_elses_is_recorded_is_decided_already(rig: Rig) -> None:
    rig.notes.records = True
    job = await rig.a_job(lambda: None)
    with rig.notes.span(SERVED):
        await rig.scheduler.trigger_job(job.id)
    await rig.work()

    assert [span.undecided for span in kept(rig, "process")] == [False]


async def test_handlers_know_their_span_also_while_nobody_records_it(rig: Rig) -> None:
    seen: list[TraceContext | None] = []

    async def look(context: HandlerContext) -> None:
        seen.extend([context.trace, rig.notes.current()])

    execution_id = await rig.trigger(await rig.a_job(look))
    await rig.work()
    execution = await rig.execution(execution_id)

    assert execution.trace is not None
    assert seen == [execution.trace.under(attempt_span_of(execution_id, 1))] * 2
    assert not rig.notes.spans


async def test_the_lines_of_a_handler_say_which_attempt_it_makes(rig: Rig) -> None:
    asked: list[dict[str, object]] = []

    async def look(_: HandlerContext) -> None:
        asked.append(dict(surroundings()))
        await asyncio.create_task(look_deeper())

    async def look_deeper() -> None:
        asked.append(dict(surroundings()))

    job = await rig.a_job(look)
    execution_id = await rig.trigger(job)
    await rig.work()

    about = {"execution_id": execution_id, "job_id": job.id, "tenant_id": "default", "attempt": 1}
    assert asked == [about, about]
    assert not surroundings()


async def test_other_handlers_than_functions_are_named_by_their_type_since_their_names_are_anybodys(rig: Rig) -> None:
    rig.notes.records = True
    definition = a_definition(
        handler_type=HandlerType.HTTP,
        handler_name="nobody-else-has-this-name",
        payload={"method": "GET", "url": "https://example.com/"},
    )
    await rig.scheduler.schedule(definition)
    rig.clock.advance(timedelta(minutes=1))
    await rig.timer.run_once()

    assert [span.name for span in kept(rig, "create")] == ["create http"]
