"""What a batch of events came to, told once it is committed: spans, figures, and a line for what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..domain.event import Event
from ..domain.execution import ExecutionStatus
from ..domain.fan_out import fan_out
from ..domain.impact import Impact, Touch
from ..domain.resolution import FannedOut, Resolved, Situation
from ..ports.events import Fanned
from ..ports.telemetry import Metric, SpanKind, SpanStart, Telemetry
from .planning import Planning
from .spans import creation


@dataclass(slots=True)
class NotedFanOut:
    """
    Decides about a batch (`domain.fan_out`), and keeps what was decided.

    A store that has to repeat a transaction asks again, so that the last decision is the one that stands.
    """

    planning: Planning
    _decided: FannedOut | None = field(default=None, init=False)

    def __call__(self, batch: Sequence[Resolved], situation: Situation) -> FannedOut:
        """Decide, and keep the decision."""
        self._decided = fan_out(batch, situation, self.planning.moment(situation.now, None))
        return self._decided

    def tell(self, fanned: Fanned, telemetry: Telemetry, *, new: bool) -> None:
        """Tell what the store made of it; `new` events are counted, and recorded, those that were shown again not."""
        fresh = [each.event for each in fanned.events if not each.is_duplicate]
        if new:
            outcomes = Counter("duplicate" if each.is_duplicate else _outcome_of(each.event) for each in fanned.events)
            for outcome, count in outcomes.items():
                telemetry.add(Metric.EVENTS, count, outcome=outcome)
        counts = self._decided.counts if self._decided else {}
        # Of an event that is shown again, what was refused before has been told of before.
        failing = {handler_id for handler_id, more in counts.items() if more.failed}
        told = [(event, each) for event in fresh for each in _impact(event).handlers if each.handler_id in failing]
        refused = [(event, each) for event, each in told if each.touch is Touch.REFUSED]
        if refused:
            event, newest = refused[-1]
            telemetry.warning(
                "event.refused",
                handlers=len(refused),
                newest=str(newest.handler_id),
                event_id=str(event.id),
                tenant_id=event.tenant_id,
                trace_id=event.trace.trace_id,
                reason=newest.reason,
            )
        if telemetry.traces:
            self._record(fresh if new else (), telemetry)

    def _record(self, events: Sequence[Event], telemetry: Telemetry) -> None:
        for event in events:
            telemetry.record(publication(event), ended_at=event.received_at)
        for plan in self._decided.plans if self._decided else ():
            for row in plan.executions:
                if row.status is ExecutionStatus.PENDING:
                    telemetry.record(creation(row, plan.job.definition), ended_at=row.created_at)


def publication(event: Event) -> SpanStart:
    """Word that an event was published, by OpenTelemetry's conventions for messaging."""
    parent = None if event.parent_span_id is None else event.trace.under(event.parent_span_id)
    return SpanStart(
        name=f"publish {event.name}",
        kind=SpanKind.PRODUCER,
        parent=parent,
        trace_id=event.trace.trace_id,
        span_id=event.trace.span_id,
        attributes={
            "messaging.system": "tocsin",
            "messaging.operation.name": "publish",
            "messaging.operation.type": "send",
            "messaging.destination.name": event.name,
            "messaging.message.id": str(event.id),
            "tocsin.tenant.id": event.tenant_id,
            "tocsin.event.depth": event.depth,
        },
        undecided=parent is None,
        started_at=event.received_at,
    )


def _impact(event: Event) -> Impact:
    return event.impact or Impact()


def _outcome_of(event: Event) -> str:
    if _impact(event).stopped is not None:
        return "stopped"
    return "matched" if _impact(event).matched else "unmatched"
