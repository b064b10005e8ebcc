"""What a batch of events does to jobs, keys and the outbox: one pure decision over what a store has locked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from . import lifecycle, runs
from .errors import TocsinError
from .event import DEPTH_LIMIT, Event, EventOrigin, HandlerCounters, JobKeyConflict, action_name
from .flow import FlowState, Gathering
from .gathering import Admitted, Dropped, admit
from .impact import HandlerImpact, Impact, Touch
from .job import HandlerType, JobDefinition, JobType, ScheduledJob
from .json import Json
from .lifecycle import Moment
from .plan import Decision, Plan
from .resolution import (
    Announce,
    Cancel,
    Create,
    FannedOut,
    FlowKey,
    Held,
    JobKey,
    Match,
    Resolved,
    Run,
    Situation,
    is_meant,
    job_key,
)
from .runs import EventRun
from .trace import span_of
from .unreadable import decided

_TOLD: Final = 3
"""Jobs that could not be cancelled, of which an impact says why."""


def fan_out(batch: Sequence[Resolved], situation: Situation, moment: Moment) -> FannedOut:
    """
    Decide about a batch of events, in their order, at the store's now, which is the moment's.

    What one handler cannot do is its own impact and hinders no other. An event at the end of a chain that is longer
    than `DEPTH_LIMIT` touches nothing.
    """
    course = _Course(situation=situation, moment=moment)
    for resolved in batch:
        course.take(resolved)
    return course.closed()


@dataclass(slots=True, kw_only=True)
class _Course:
    """The batch so far: everything as the events before have left it."""

    situation: Situation
    moment: Moment
    jobs: dict[UUID, ScheduledJob] = field(default_factory=dict)
    keyed: dict[JobKey, UUID] = field(default_factory=dict)
    flows: dict[FlowKey, FlowState] = field(default_factory=dict)
    events: dict[UUID, Event] = field(default_factory=dict)
    plans: list[Plan] = field(default_factory=list)
    created: dict[UUID, ScheduledJob] = field(default_factory=dict)
    held: dict[UUID, Held] = field(default_factory=dict)
    published: list[Event] = field(default_factory=list)
    counts: dict[UUID, HandlerCounters] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.jobs.update(self.situation.jobs)
        self.keyed.update(self.situation.keyed)

    def take(self, resolved: Resolved) -> None:
        """Decide about one more event, or about one that came before, in another gathering."""
        event = self.events.get(resolved.event.id, resolved.event)
        self.events[event.id] = self._met(event, resolved) if event.impact is None else self._shown(event, resolved)

    def _met(self, event: Event, resolved: Resolved) -> Event:
        """Give a new event with its impact."""
        event = replace(event, received_at=self.moment.now)
        if event.depth > DEPTH_LIMIT:
            return replace(event, impact=Impact(stopped=f"more than {DEPTH_LIMIT} events in a row led to this one"))
        touched = [self._touched(event, match) for match in resolved.matches]
        impact = Impact(handlers=(*touched, *resolved.left_out), others=resolved.others)
        for each in impact.handlers:
            self._count(each, triggered=True)
        return replace(event, impact=impact)

    def _shown(self, event: Event, resolved: Resolved) -> Event:
        """Give an event that is shown to handlers again with what they make of it now."""
        impact = event.impact or Impact()
        for each in (*(self._touched(event, match) for match in resolved.matches), *resolved.left_out):
            again = replace(each, replayed_at=self.moment.now) if resolved.replayed else each
            impact = impact.told_again(again)
            self._count(again, triggered=resolved.replayed)
        return replace(event, impact=impact)

    def closed(self) -> FannedOut:
        """Give the decision."""
        return FannedOut(
            events=list(self.events.values()),
            plans=self.plans,
            created=list(self.created.values()),
            flows=self.flows,
            held=list(self.held.values()),
            published=self.published,
            counts=self.counts,
        )

    def _touched(self, event: Event, match: Match) -> HandlerImpact:
        told = HandlerImpact(
            handler_id=match.handler.id,
            handler_version=match.handler.version,
            touch=Touch.ACTED,
            action=action_name(match.handler.definition.action),
        )
        if match.flow_key is None:
            return self._acted(event, match, told)
        key = match.handler.id, match.flow_key
        state = self.flows.get(key) or self.situation.flows.get(key) or FlowState()
        new_id = self.moment.new_id(self.moment.now)
        self.flows[key], verdict = admit(
            match.handler.definition.flow, state, event.id, now=self.moment.now, new_id=new_id
        )
        match verdict:
            case Admitted():
                return self._acted(event, match, told)
            case Dropped(reason):
                return replace(told, touch=Touch.LIMITED, reason=reason)
            case Gathering():
                return self._holding(event, match, told, verdict)

    def _holding(self, event: Event, match: Match, told: HandlerImpact, gathering: Gathering) -> HandlerImpact:
        self.held[gathering.id] = Held(
            handler_id=match.handler.id,
            flow_key=match.flow_key or "",
            tenant_id=event.tenant_id,
            gathering=gathering,
        )
        ids = (gathering.id,) if isinstance(match.act, Run) else ()
        return replace(told, touch=Touch.HELD, execution_ids=ids)

    def _acted(self, event: Event, match: Match, told: HandlerImpact) -> HandlerImpact:
        try:
            match match.act:
                case Run() as run:
                    return self._run(event, match, run, told)
                case Create() as create:
                    return self._create(event, match, create, told)
                case Cancel() as cancel:
                    return self._cancel(match, cancel, told)
                case Announce() as announcement:
                    return self._announce(event, announcement, told)
        except TocsinError as error:
            return replace(told, touch=Touch.REFUSED, reason=error.message)

    def _run(self, event: Event, match: Match, run: Run, told: HandlerImpact) -> HandlerImpact:
        job = self.jobs.get(run.job_id)
        if job is None or job.tenant_id != match.handler.tenant_id or job.deleted_at is not None:
            return replace(told, touch=Touch.REFUSED, reason=f"no job {run.job_id}")
        request = EventRun(
            event_id=event.id,
            event_handler_id=match.handler.id,
            payload=payload_of(job.definition, run),
            correlation_id=event.correlation_id or str(event.id),
            depth=event.depth,
            trace=event.trace,
            execution_id=match.gathering.id if match.gathering else None,
        )
        plan = self._decided(job, lambda read, _: runs.run_for_event(read, self.moment, request))
        self._plan(plan)
        return replace(told, execution_ids=(plan.executions[-1].id,))

    def _create(self, event: Event, match: Match, create: Create, told: HandlerImpact) -> HandlerImpact:
        key = job_key(event.tenant_id, create)
        holder = self.keyed.get(key) if key else None
        if holder is not None and create.on_conflict is JobKeyConflict.KEEP and self._is_live(holder):
            return replace(told, job_ids=(holder,), reason="another job has the key, and was kept")
        at = max(event.received_at + create.delay, self.moment.now)
        definition = replace(create.definition, type=JobType.ONE_TIME, schedule=at.isoformat(), timezone="UTC")
        moment = replace(self._by(match), trace=event.trace, depth=event.depth)
        job = lifecycle.create(definition, moment, tenant_id=event.tenant_id, paused=False)
        if holder is not None:
            self._release(holder, moment)
        self.created[job.id] = job
        if key is not None:
            self.keyed[key] = job.id
        return replace(told, job_ids=(job.id,) if holder is None else (job.id, holder))

    def _cancel(self, match: Match, cancel: Cancel, told: HandlerImpact) -> HandlerImpact:
        made_now = [job.id for job in self.created.values() if is_meant(job, cancel)]
        ended, problems = [], []
        for job_id in [*self.situation.cancellable.get(cancel, ()), *made_now]:
            try:
                if self._end(job_id, self._by(match)):
                    ended.append(job_id)
            except TocsinError as error:
                problems.append(f"job {job_id}: {error.message}")
        told = replace(told, job_ids=tuple(ended), reason=None if ended else "no live job is meant")
        return replace(told, touch=Touch.REFUSED, reason="; ".join(problems[:_TOLD])) if problems else told

    def _announce(self, event: Event, announcement: Announce, told: HandlerImpact) -> HandlerImpact:
        event_id = self.moment.new_id(self.moment.now)
        self.published.append(
            Event(
                id=event_id,
                tenant_id=event.tenant_id,
                name=announcement.name,
                data=announcement.data,
                subject=announcement.subject,
                source=event.source,
                received_at=self.moment.now,
                time=self.moment.now,
                origin=EventOrigin.PUBLISH,
                trace=event.trace.under(span_of(event_id)),
                parent_span_id=event.trace.span_id,
                correlation_id=event.correlation_id or str(event.id),
                cause=event.id,
                depth=event.depth + 1,
            )
        )
        return replace(told, event_ids=(event_id,))

    def _end(self, job_id: UUID, moment: Moment) -> bool:
        """Cancel a job for good; False if it has ended before."""
        made = self.created.pop(job_id, None)
        job = self.jobs[job_id] if made is None else made
        # What was made by the same batch was never there.
        if made is None:
            if job.status in lifecycle.ENDED or job.deleted_at is not None:
                return False
            self._plan(self._decided(job, lambda read, _: lifecycle.cancel(read, moment)))
        self._free_key(job)
        return True

    def _is_live(self, job_id: UUID) -> bool:
        return job_id in self.created or self.jobs[job_id].status not in lifecycle.ENDED

    def _release(self, job_id: UUID, moment: Moment) -> None:
        """Have a job give up its key: cancelled, or deleted if it has ended, because only that frees its key then."""
        if not self._end(job_id, moment):
            self._plan(self._decided(self.jobs[job_id], lambda read, _: lifecycle.delete(read, moment)))
            self._free_key(self.jobs[job_id])

    def _free_key(self, job: ScheduledJob) -> None:
        definition = job.definition
        if definition.key is not None:
            self.keyed.pop((job.tenant_id, definition.handler_name, definition.key), None)

    def _by(self, match: Match) -> Moment:
        """Give the moment in the name of an event handler, so that versions of jobs say who changed them."""
        return replace(self.moment, by=f"event_handler/{match.handler.id}")

    def _decided(self, job: ScheduledJob, decide: Decision) -> Plan:
        return decided(job, self.moment.now, decide)

    def _plan(self, plan: Plan) -> None:
        self.plans.append(plan)
        self.jobs[plan.job.id] = plan.job

    def _count(self, told: HandlerImpact, *, triggered: bool) -> None:
        before = self.counts.get(told.handler_id, HandlerCounters())
        self.counts[told.handler_id] = replace(
            before,
            triggered=before.triggered + triggered,
            matched=before.matched + (triggered and told.touch.is_match),
            failed=before.failed + (told.touch is Touch.REFUSED),
            last_triggered=self.moment.now if triggered else before.last_triggered,
        )


def payload_of(definition: JobDefinition, run: Run) -> Json:
    """Put together the payload of an event's execution (`domain.event.RunJob`); None is the job's own, as it is."""
    own = definition.payload
    if run.overlay is not None:
        if isinstance(own, Mapping) and isinstance(run.overlay, Mapping):
            return {**own, **run.overlay}
        return run.overlay
    is_call = definition.handler_type in {HandlerType.HTTP, HandlerType.COMMAND}
    # Neither has room for the event beside what it holds.
    if is_call or not isinstance(own, Mapping | None):
        return None
    return {**(own or {}), **run.told}


Decide = Callable[[Sequence[Resolved], Situation], FannedOut]
"""A pure decision about the events of a batch that are new; it must not raise."""
