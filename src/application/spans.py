"""How executions and their attempts are told as spans, by OpenTelemetry's conventions for messaging."""

from __future__ import annotations

from uuid import UUID

from ..domain.attempt import Attempt
from ..domain.execution import JobExecution
from ..domain.job import HandlerType, JobDefinition
from ..domain.trace import TraceContext, attempt_span_of, trace_of
from ..ports.telemetry import Attribute, SpanKind, SpanStart


def handler_label(handler_type: HandlerType, name: str) -> str:
    """Name a handler in few words for many jobs: the function, or else the type, since others' names are anybody's."""
    return name if handler_type is HandlerType.FUNCTION else handler_type.value


def creation(execution: JobExecution, definition: JobDefinition, *, led_to: TraceContext | None = None) -> SpanStart:
    """Word that an execution was made: the span that stands for it, linked to what once led to it."""
    trace = execution.trace or trace_of(execution.id)
    label = handler_label(definition.handler_type, definition.handler_name)
    parent = None if execution.parent_span_id is None else trace.under(execution.parent_span_id)
    return SpanStart(
        name=f"create {label}",
        kind=SpanKind.PRODUCER,
        parent=parent,
        trace_id=trace.trace_id,
        span_id=trace.span_id,
        links=() if led_to is None else (led_to,),
        attributes={
            **_message("create", "create", label=label, execution_id=execution.id),
            "tocsin.job.id": str(execution.job_id),
            "tocsin.tenant.id": execution.tenant_id,
            "tocsin.origin": execution.origin.value,
            "tocsin.scheduled_at": execution.scheduled_at.isoformat(),
        },
        undecided=_begins_here(trace, execution.id, execution.event_id),
        started_at=execution.created_at,
    )


def processing(attempt: Attempt) -> SpanStart:
    """Word that an attempt runs; one that follows others is linked to the first."""
    label = handler_label(attempt.definition.handler_type, attempt.definition.handler_name)
    first = attempt.trace_of_attempt(1)
    return SpanStart(
        name=f"process {label}",
        kind=SpanKind.CONSUMER,
        parent=attempt.trace,
        span_id=attempt_span_of(attempt.execution_id, attempt.attempt),
        links=() if attempt.attempt == 1 or first is None else (first,),
        attributes={
            **_message("process", "process", label=label, execution_id=attempt.execution_id),
            "tocsin.job.id": str(attempt.job_id),
            "tocsin.tenant.id": attempt.tenant_id,
            "tocsin.attempt": attempt.attempt,
            "tocsin.scheduled_at": attempt.scheduled_at.isoformat(),
        },
        undecided=_begins_here(attempt.trace, attempt.execution_id, attempt.event_id),
    )


def _begins_here(trace: TraceContext | None, *subjects: UUID | None) -> bool:
    """Tell whether a trace began with an execution or its event, so that nobody outside has decided about it."""
    begun = [trace_of(subject).trace_id for subject in subjects if subject is not None]
    return trace is not None and trace.trace_id in begun


def _message(name: str, kind: str, *, label: str, execution_id: UUID) -> dict[str, Attribute]:
    return {
        "messaging.system": "tocsin",
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": label,
        "messaging.message.id": str(execution_id),
    }
