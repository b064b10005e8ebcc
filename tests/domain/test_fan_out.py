from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.domain.happenings import (
    NOW,
    a_handler,
    acting,
    an_event,
    announcing,
    cancelling,
    decided,
    ids_of,
    impacts,
    making,
    running,
)
from tests.domain.samples import at, count_id
from tests.makers import a_job, an_event_job
from tocsin.domain.event import DEPTH_LIMIT, Event, EventOrigin, HandlerCounters, JobKeyConflict
from tocsin.domain.execution import ExecutionStatus, Origin
from tocsin.domain.fan_out import payload_of
from tocsin.domain.flow import Batch, Debounce, FlowControl, Rate
from tocsin.domain.impact import HandlerImpact, Impact, Touch
from tocsin.domain.job import HandlerType, JobStatus, JobType
from tocsin.domain.json import Json
from tocsin.domain.resolution import Match, Resolved
from tocsin.domain.runs import EVENT_PAYLOAD_LIMIT
from tocsin.domain.trace import span_of

REPLACE = JobKeyConflict.REPLACE


def test_a_run_is_an_execution_in_the_trace_of_its_event() -> None:
    job, event = an_event_job(), an_event(correlation_id="c", depth=3)

    decision = decided(acting(running(job), event=event), jobs=[job])

    (told,), (plan,) = impacts(decision), decision.plans
    (row,) = plan.executions
    assert (told.touch, told.execution_ids) == (Touch.ACTED, (row.id,))
    assert (row.origin, row.status, row.event_id, row.correlation_id, row.depth) == (
        Origin.EVENT,
        ExecutionStatus.PENDING,
        event.id,
        "c",
        3,
    )
    assert (row.trace_id, row.parent_span_id) == (event.trace.trace_id, event.trace.span_id)
    assert row.span_id == span_of(row.id)
    assert row.event_handler_id == told.handler_id
    assert decision.events[0].received_at == at(NOW)


def test_runs_of_one_job_share_its_slots() -> None:
    job = an_event_job(concurrency=2)

    decision = decided(*(acting(running(job), running(job)) for _ in range(2)), jobs=[job])

    rows = [row for plan in decision.plans for row in plan.executions]
    assert [row.holds_slot for row in rows] == [True, True, False, False]
    assert decision.plans[-1].job.counters.live == 4


def test_what_one_handler_cannot_do_hinders_no_other() -> None:
    paused, foreign, job = an_event_job(status=JobStatus.PAUSED), an_event_job(tenant_id="other"), an_event_job()
    large = {"data": "x" * EVENT_PAYLOAD_LIMIT}

    decision = decided(
        acting(running(paused), running(foreign), running(job, large), making(name=""), running(job)),
        jobs=[paused, foreign, job],
    )

    told = impacts(decision)
    assert [each.touch for each in told] == [Touch.REFUSED] * 4 + [Touch.ACTED]
    assert all(each.reason for each in told[:4])
    assert (len(decision.plans), decision.created) == (1, [])
    assert decision.counts[told[0].handler_id] == HandlerCounters(triggered=1, failed=1, last_triggered=at(NOW))
    assert decision.counts[told[4].handler_id] == HandlerCounters(triggered=1, matched=1, last_triggered=at(NOW))


def test_a_job_that_is_gone_is_refused() -> None:
    job = an_event_job()

    decision = decided(acting(running(job)))

    assert impacts(decision)[0].reason == f"no job {job.id}"


def test_a_created_job_runs_once_after_its_delay() -> None:
    event = an_event()

    decision = decided(acting(making(delay=3600), event=event))

    (job,), (told,) = decision.created, impacts(decision)
    assert (job.next_run, job.definition.type, job.created_in) == (at(NOW + 3600), JobType.ONE_TIME, event.trace)
    assert (told.job_ids, job.created_by) == ((job.id,), f"event_handler/{told.handler_id}")


def test_the_delay_of_a_job_counts_from_when_its_event_was_received() -> None:
    old = an_event(impact=Impact(), received_at=at(NOW - 1800))
    replayed = replace(acting(making(delay=3600), making(delay=60, key=None), event=old), replayed=True)

    assert [job.next_run for job in decided(replayed).created] == [at(NOW + 1800), at(NOW)]


def test_a_key_that_is_taken_keeps_its_job() -> None:
    holder = a_job(key="escalate")

    decision = decided(acting(making()), jobs=[holder])

    (told,) = impacts(decision)
    assert (decision.created, decision.plans) == ([], [])
    assert (told.touch, told.job_ids) == (Touch.ACTED, (holder.id,))
    assert told.reason is not None


def test_a_key_that_is_taken_is_taken_over() -> None:
    holder = a_job(key="escalate")

    decision = decided(acting(making(on_conflict=REPLACE)), jobs=[holder])

    (plan,), (job,) = decision.plans, decision.created
    assert (plan.job.id, plan.job.status, plan.cancels_open) == (holder.id, JobStatus.CANCELLED, True)
    assert impacts(decision)[0].job_ids == (job.id, holder.id)
    assert plan.change is not None
    assert plan.change.changed_by == job.created_by


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED])
def test_a_job_that_has_ended_gives_its_key_up_by_being_deleted(status: JobStatus) -> None:
    holder = a_job(key="escalate", status=status)

    decision = decided(acting(making(on_conflict=REPLACE)), jobs=[holder])

    assert (decision.plans[0].job.status, decision.plans[0].job.deleted_at) == (status, at(NOW))
    assert len(decision.created) == 1


def test_two_events_of_one_batch_keep_the_first_job_of_a_key() -> None:
    decision = decided(acting(making()), acting(making()))

    (job,) = decision.created
    assert [told.job_ids for told in impacts(decision)] == [(job.id,)] * 2


def test_two_events_of_one_batch_leave_the_last_job_that_takes_a_key_over() -> None:
    holder = a_job(key="escalate")

    decision = decided(*(acting(making(on_conflict=REPLACE)) for _ in range(3)), jobs=[holder])

    told = impacts(decision)
    assert [plan.job.id for plan in decision.plans] == [holder.id]
    assert ids_of(decision.created) == [told[-1].job_ids[0]]
    assert told[-1].job_ids[1] == told[-2].job_ids[0]


def test_a_key_is_taken_within_one_handler_and_tenant_only() -> None:
    other = an_event(tenant_id="other")

    decision = decided(acting(making(), making(handler_name="other")), acting(making(), event=other))

    assert len(decision.created) == 3


def test_live_jobs_of_a_key_or_of_all_tags_are_cancelled() -> None:
    by_key, tagged, half = a_job(key="escalate"), a_job(tags=("a", "b", "c")), a_job(tags=("a",))
    cancels = acting(cancelling(), cancelling(None, "a", "b"))

    decision = decided(cancels, jobs=[by_key, tagged, half])

    assert [told.job_ids for told in impacts(decision)] == [(by_key.id,), (tagged.id,)]
    assert [plan.job.status for plan in decision.plans] == [JobStatus.CANCELLED] * 2


def test_a_job_is_cancelled_once() -> None:
    decision = decided(acting(cancelling(), cancelling()), jobs=[a_job(key="escalate")])

    told = impacts(decision)
    assert len(decision.plans) == 1
    assert [len(each.job_ids) for each in told] == [1, 0]
    assert told[1].reason == "no live job is meant"


def test_a_job_made_by_an_event_is_cancelled_by_the_next_one_of_the_batch() -> None:
    decision = decided(acting(making(delay=60)), acting(cancelling()), acting(making(delay=60)))

    made, cancelled, again = impacts(decision)
    assert (cancelled.job_ids, decision.plans) == (made.job_ids, [])
    assert ids_of(decision.created) == list(again.job_ids)


def test_a_job_that_cannot_be_cancelled_hinders_no_other_that_is_meant() -> None:
    broken = replace(a_job(tags=("x",)), next_run=at(0))
    broken = replace(broken, definition=replace(broken.definition, schedule="never"))
    sound = a_job(tags=("x",))

    decision = decided(acting(cancelling(None, "x")), jobs=[broken, sound])

    (told,) = impacts(decision)
    assert (told.touch, told.job_ids) == (Touch.REFUSED, (sound.id,))
    assert str(broken.id) in (told.reason or "")


def test_a_published_event_follows_from_its_own() -> None:
    event = an_event(depth=2)

    decision = decided(acting(announcing(), event=event))

    (published,) = decision.published
    assert (published.origin, published.depth, published.cause) == (EventOrigin.PUBLISH, 3, event.id)
    assert (published.trace.trace_id, published.parent_span_id) == (event.trace.trace_id, event.trace.span_id)
    assert published.correlation_id == str(event.id)
    assert impacts(decision)[0].event_ids == (published.id,)


def test_a_chain_of_events_stops_at_its_limit_and_says_so() -> None:
    chain: list[Event] = [an_event()]
    while True:
        decision = decided(acting(announcing(), event=chain[-1]))
        chain[-1] = decision.events[0]
        if not decision.published:
            break
        chain.extend(decision.published)

    last = chain[-1].impact
    assert [event.depth for event in chain] == list(range(DEPTH_LIMIT + 2))
    assert last is not None
    assert (last.handlers, last.stopped) == ((), f"more than {DEPTH_LIMIT} events in a row led to this one")
    assert decision.counts == {}


def waiting(flow: FlowControl, *, key: str = "k", run: bool = True) -> Match:
    """A handler with limits that would run a job, or publish."""
    return Match(handler=a_handler(flow), act=running(JOB) if run else announcing(), flow_key=key)


JOB = an_event_job()


def test_the_execution_of_a_debounce_has_the_id_that_was_promised() -> None:
    match = waiting(FlowControl(debounce=Debounce(seconds=5)))
    first, second = an_event(), an_event()

    held = decided(acting(match, event=first), acting(match, event=second), jobs=[JOB])
    (holding,) = held.held
    closing = acting(replace(match, flow_key=None, gathering=holding.gathering), event=held.events[1])
    acted = decided(closing, jobs=[JOB], seconds=NOW + 5)

    (row,) = acted.plans[0].executions
    assert [told.execution_ids for told in impacts(held)] == [(row.id,), (row.id,)]
    assert (holding.gathering.event_ids, holding.gathering.superseded) == ((second.id,), 1)
    assert (row.event_id, row.span_id, row.trace_id) == (second.id, span_of(row.id), second.trace.trace_id)
    assert [(told.touch, told.execution_ids) for told in impacts(acted)] == [(Touch.ACTED, (row.id,))]
    assert acted.events[0].received_at == at(NOW)
    assert acted.counts[match.handler.id].matched == 0


def test_two_handlers_that_held_one_event_both_tell_what_they_made_of_it() -> None:
    flow = FlowControl(debounce=Debounce(seconds=5))
    one, other = waiting(flow), waiting(flow, run=False)
    held = decided(acting(one, other), jobs=[JOB])

    shown = [
        acting(replace(match, flow_key=None, gathering=each.gathering), event=held.events[0])
        for match, each in zip((one, other), held.held, strict=True)
    ]
    decision = decided(*shown, jobs=[JOB], seconds=NOW + 5)

    assert [event.id for event in decision.events] == [held.events[0].id]
    assert [told.touch for told in impacts(decision)] == [Touch.ACTED] * 2


def test_a_full_batch_leaves_room_for_the_next() -> None:
    match = waiting(FlowControl(batch=Batch(size=2, seconds=60)), run=False)

    decision = decided(*(acting(match) for _ in range(3)))

    full, begun = decision.held
    assert [len(each.gathering.event_ids) for each in (full, begun)] == [2, 1]
    assert [each.gathering.due_at for each in (full, begun)] == [at(NOW), at(NOW + 60)]
    assert decision.flows[match.handler.id, "k"].gathering == begun.gathering
    assert {told.touch for told in impacts(decision)} == {Touch.HELD}
    assert {told.execution_ids for told in impacts(decision)} == {()}


def test_limits_hold_per_handler_and_key() -> None:
    flow = FlowControl(rate_limit=Rate(limit=1, seconds=60))
    one, other = waiting(flow, run=False), waiting(flow, run=False)

    decision = decided(*(acting(one, other, replace(one, flow_key="l")) for _ in range(2)))

    assert [told.touch for told in impacts(decision)] == [Touch.ACTED] * 3 + [Touch.LIMITED] * 3
    assert {told.reason for told in impacts(decision)[3:]} == {"rate_limit"}
    assert len(decision.published) == 3


def test_a_limit_goes_on_from_what_is_stored() -> None:
    match = waiting(FlowControl(dedupe_seconds=10), run=False)

    before = decided(acting(match))
    after = decided(acting(match), flows=before.flows, seconds=NOW + 9)

    assert impacts(after)[0].touch is Touch.LIMITED


def test_a_replayed_event_tells_when_it_was_shown() -> None:
    known = HandlerImpact(handler_id=count_id(at(0)), handler_version=1, touch=Touch.ACTED, action="publish")
    event = an_event(impact=Impact(handlers=(known,), others=4))

    decision = decided(replace(acting(announcing(), event=event), replayed=True))

    kept, shown = impacts(decision)
    assert (kept, shown.replayed_at) == (known, at(NOW))
    assert decision.counts[shown.handler_id].triggered == 1
    assert decision.events[0].impact is not None
    assert decision.events[0].impact.others == 4


def test_the_hash_of_an_impact_is_equal_if_and_only_if_the_same_handlers_were_touched_the_same_way() -> None:
    def impact(*, version: int = 1, touch: Touch = Touch.ACTED, handler: int = 1, **fields: object) -> Impact:
        told = HandlerImpact(handler_id=count_id(at(0)), handler_version=version, touch=touch, action="publish")
        told = replace(told, handler_id=type(told.handler_id)(int=handler), event_ids=(count_id(at(0)),))
        return replace(Impact(handlers=(told,), others=2), **fields)  # type: ignore[arg-type] # fields of an impact

    same = [impact(), impact()]
    other = [
        impact(version=2),
        impact(touch=Touch.LIMITED),
        impact(handler=2),
        impact(others=3),
        impact(stopped="why"),
        impact(handlers=()),
    ]
    assert len({each.hash for each in same}) == 1
    assert len({each.hash for each in [*same, *other]}) == len(other) + 1


TOLD = {"event": {"id": 7}}


@pytest.mark.parametrize(
    ("handler_type", "own", "overlay", "payload"),
    [
        (HandlerType.FUNCTION, None, None, TOLD),
        (HandlerType.AGENT, {"a": 1}, None, {"a": 1, **TOLD}),
        (HandlerType.WORKFLOW, {"event": 1, "b": 2}, None, {"b": 2, **TOLD}),
        (HandlerType.FUNCTION, [1], None, None),
        (HandlerType.HTTP, {"url": "u"}, None, None),
        (HandlerType.COMMAND, {"command": "c"}, None, None),
        (HandlerType.HTTP, {"url": "u", "body": 1}, {"body": {"x": 1}}, {"url": "u", "body": {"x": 1}}),
        (HandlerType.FUNCTION, {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        (HandlerType.FUNCTION, {"a": 1}, [2], [2]),
        (HandlerType.FUNCTION, [1], {"b": 2}, {"b": 2}),
        (HandlerType.FUNCTION, None, 0, 0),
    ],
)
def test_what_a_run_gets_as_its_payload(handler_type: HandlerType, own: Json, overlay: Json, payload: Json) -> None:
    job = an_event_job(handler_type=handler_type, payload=own)

    assert payload_of(job.definition, running(job, overlay, TOLD)) == payload


def test_handlers_that_do_nothing_are_told_and_counted_too() -> None:
    def told(touch: Touch) -> HandlerImpact:
        return HandlerImpact(handler_id=count_id(at(0)), handler_version=1, touch=touch, action="publish")

    filtered, refused = told(Touch.FILTERED), told(Touch.REFUSED)

    decision = decided(Resolved(event=an_event(), left_out=(filtered, refused), others=9))

    assert decision.events[0].impact == Impact(handlers=(filtered, refused), others=9)
    assert decision.counts[filtered.handler_id] == HandlerCounters(triggered=1, last_triggered=at(NOW))
    assert decision.counts[refused.handler_id].failed == 1


def test_an_event_that_is_held_for_long_still_counts_its_delay_from_its_arrival() -> None:
    match = replace(waiting(FlowControl(throttle=Rate(limit=1, seconds=60))), act=making(delay=90))
    held = decided(acting(match), acting(match))
    closing = replace(match, flow_key=None, gathering=held.held[0].gathering)

    acted = decided(acting(closing, event=held.events[1]), seconds=NOW + 60)

    due: datetime | None = acted.created[0].next_run
    assert due == at(NOW) + timedelta(seconds=90)
