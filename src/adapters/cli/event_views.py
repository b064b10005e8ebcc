"""Events, what they touched, and event handlers, drawn for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Final
from uuid import UUID

from rich.console import Group, RenderableType
from rich.text import Text

from ...domain.event import Action, Call, CancelJobs, CreateJob, Event, EventHandler, Publish, RunJob
from ...domain.execution import JobExecution
from ...domain.flow import FlowControl
from ...domain.impact import HandlerImpact, Impact
from ...ports.event_requests import EventOutcome, EventReport, Replay
from ...ports.stores import Page
from .documents import encode
from .execution_views import execution_list
from .tables import ago, facts, moment, rows, state
from .texts import counted, span, wall

_SHOWN: Final = 10


def event_list(page: Page[Event]) -> RenderableType:
    """Draw events as rows."""
    return rows(
        ("id", "received", "when", "event", "source", "matched", "detail"),
        (
            (
                str(each.id),
                wall(each.received_at),
                ago(each.received_at),
                each.name,
                each.source,
                None if each.impact is None else each.impact.matched,
                _detail(each.impact),
            )
            for each in page.items
        ),
        empty="no events",
    )


def event_report(report: EventReport, names: Mapping[UUID, str]) -> RenderableType:
    """Draw an event with what it touched, handlers by their `names` where they have one, and its executions."""
    drawn = [_event_facts(report.event), Text(), Text("impact", style="bold"), _impact(report.event.impact, names)]
    if report.executions:
        drawn += [Text(), Text("executions", style="bold"), execution_list(_whole(report.executions))]
    return Group(*drawn)


def event_outcome(outcome: EventOutcome) -> RenderableType:
    """Draw what came of an event."""
    told = facts(
        {
            "event": str(outcome.event_id),
            "matched": counted(outcome.matched, "handler"),
            "duplicate": "yes: it had been sent before, and nothing was done" if outcome.is_duplicate else None,
            "executions": _ids(outcome.execution_ids),
        }
    )
    if not outcome.outcomes:
        return told
    return Group(told, Text(), Text("outcomes", style="bold"), execution_list(_whole(outcome.outcomes)))


def handler_list(page: Page[EventHandler]) -> RenderableType:
    """Draw event handlers as rows."""
    return rows(
        ("id", "key", "event", "action", "status", "priority", "triggered", "matched", "succeeded", "failed", "last"),
        (
            (
                str(each.id),
                each.definition.key,
                each.definition.event,
                _action(each.definition.action),
                state(_enabled(each)),
                each.definition.priority,
                each.counters.triggered,
                each.counters.matched,
                each.counters.succeeded,
                each.counters.failed,
                ago(each.counters.last_triggered),
            )
            for each in page.items
        ),
        empty="no event handlers",
    )


def handler_facts(handler: EventHandler) -> RenderableType:
    """Draw all of one event handler."""
    definition, counters = handler.definition, handler.counters
    return facts(
        {
            "id": str(handler.id),
            "name": definition.name,
            "key": definition.key,
            "status": state(_enabled(handler)),
            "event": definition.event,
            "filter": definition.filter,
            "action": Text(encode(definition.action)),
            "mode": definition.mode.value,
            "priority": definition.priority,
            "tenants": "all" if definition.every_tenant else None,
            "flow": None if definition.flow.is_free else Text(encode(_limits(definition.flow))),
            "triggered": f"{counters.triggered}: {counters.matched} matched",
            "runs": f"{counters.succeeded} succeeded, {counters.failed} failed",
            "last triggered": moment(counters.last_triggered),
            "created": moment(handler.created_at),
            "created by": handler.created_by,
            "updated": moment(handler.updated_at),
            "version": handler.version,
        }
    )


def replay_facts(replay: Replay) -> RenderableType:
    """Draw what a replay came to, or would come to."""
    did = "would act upon" if replay.is_dry_run else "acted upon"
    told = facts(
        {
            "handler": str(replay.handler_id),
            "seen": replay.seen,
            did: replay.acted,
            "filtered": replay.filtered,
            "refused": replay.refused,
            "acted upon before": replay.known,
            "events": _ids(replay.event_ids),
        }
    )
    if not replay.reasons:
        return told
    return Group(told, Text(), rows(("reason", "events"), replay.reasons.items(), empty=""))


def _whole(executions: Sequence[JobExecution]) -> Page[JobExecution]:
    count = len(executions)
    return Page(items=executions, total=count, limit=count, offset=0, next_cursor=None)


def _event_facts(event: Event) -> RenderableType:
    return facts(
        {
            "id": str(event.id),
            "name": event.name,
            "received": moment(event.received_at),
            "happened": moment(event.time),
            "origin": event.origin.value,
            "source": event.source,
            "subject": event.subject,
            "key": event.idempotency_key,
            "correlation": event.correlation_id,
            "attributes": Text(encode(event.attributes)) if event.attributes else None,
            "data": None if event.data is None else Text(encode(event.data)),
            "cause": None if event.cause is None else str(event.cause),
            "depth": event.depth or None,
            "trace": event.trace.trace_id,
            "span": event.trace.span_id,
        }
    )


def _impact(impact: Impact | None, names: Mapping[UUID, str]) -> RenderableType:
    if impact is None:
        return Text("not resolved yet", style="dim")
    table = rows(
        ("handler", "name", "version", "what", "action", "reason", "did"),
        (
            (
                str(each.handler_id),
                names.get(each.handler_id),
                each.handler_version,
                state(each.touch.value),
                each.action,
                each.reason,
                _did(each),
            )
            for each in impact.handlers
        ),
        empty="no handler is for events of this name",
    )
    others = f"{counted(impact.others, 'other handler')} asked, for events of other names"
    told = [Text(line) for line in (impact.stopped, others, f"hash {impact.hash}") if line is not None]
    return Group(table, *told)


def _did(told: HandlerImpact) -> str | None:
    parts = (("execution", told.execution_ids), ("job", told.job_ids), ("event", told.event_ids))
    done = [f"{counted(len(ids), kind)} {_ids(ids)}" for kind, ids in parts if ids]
    if told.replayed_at is not None:
        done.append(f"replayed {wall(told.replayed_at)}")
    return "; ".join(done) or None


def _detail(impact: Impact | None) -> str | None:
    if impact is None:
        return "not resolved yet"
    told = (f"{each.touch.value}: {each.reason}" for each in impact.handlers if each.reason is not None)
    return impact.stopped or next(told, None)


def _ids(ids: Sequence[UUID]) -> str | None:
    shown = ", ".join(map(str, ids[:_SHOWN]))
    return f"{shown} and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else shown or None


def _action(action: Action) -> str:
    match action:
        case RunJob():
            return f"run job {action.job_id}"
        case CreateJob():
            later = f" in {span(timedelta(seconds=action.delay_seconds))}" if action.delay_seconds else ""
            return f"create job {action.job.get('name')}{later}"
        case CancelJobs():
            return f"cancel {', '.join(filter(None, (action.key, *action.tags)))}"
        case Call():
            return f"call {action.handler_name}"
        case Publish():
            return f"publish {action.name}"


def _limits(flow: FlowControl) -> Mapping[str, object]:
    return {name: limit for name, limit in asdict(flow).items() if limit is not None}


def _enabled(handler: EventHandler) -> str:
    return "enabled" if handler.definition.enabled else "disabled"
