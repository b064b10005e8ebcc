"""`tocsin events on`: adding a standing rule about events."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

import typer

from ...domain.errors import InvalidEventHandler, InvalidInput
from ...domain.event import EventHandlerDefinition, JobKeyConflict
from ...domain.flow import FlowControl
from ...domain.job import HandlerType
from ...ports.scheduler import OnConflict
from .completion import complete_job
from .event_definitions import Deed, Limits
from .event_documents import read_handler
from .event_options import (
    BatchOption,
    DebounceOption,
    DedupeOption,
    FilterOption,
    FlowKeyOption,
    KeyOption,
    ModeOption,
    NameOption,
    PriorityOption,
    RateLimitOption,
    ThrottleOption,
    named,
)
from .event_views import handler_facts
from .exits import EVENT_HANDLER_ADVICE
from .options import PayloadOption
from .references import find_job
from .session import Session, remote

# \b keeps the lines below it as they are.
ON_EXAMPLES: Final = """\b
Examples:
  tocsin events on 'order.*' --filter 'event.data.total > 100' --call reports.large_order
  tocsin events on ticket.opened --delay 48h --create-job '{"name": "escalate {{ event.data.ticket }}",
    "key": "escalate-{{ event.data.ticket }}", "handler_name": "support.escalate"}'
  tocsin events on ticket.resolved --cancel-key 'escalate-{{ event.data.ticket }}'
  tocsin events on 'page.*' --debounce 10s --flow-key event.subject --call-url https://example.com/refresh
  tocsin events on --file handler.json --on-conflict replace
"""


def register(events: typer.Typer) -> None:
    """Add the command."""
    events.command("on", epilog=ON_EXAMPLES)(remote(on, advice=EVENT_HANDLER_ADVICE))


async def on(
    session: Session,
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="order.created; order.* and order.** stand for more.")
    ] = None,
    *,
    call: Annotated[str | None, typer.Option(metavar="NAME", help="Call this function.")] = None,
    handler_type: Annotated[HandlerType | None, typer.Option(help="With --call: what kind of handler.")] = None,
    call_url: Annotated[str | None, typer.Option(metavar="URL", help="Call this URL.")] = None,
    method: Annotated[
        str | None, typer.Option(metavar="VERB", help="With --call-url; else GET, POST with a body.")
    ] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="NAME:VALUE", help="With --call-url; repeatable.")] = None,
    body: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="With --call-url.")] = None,
    expect: Annotated[list[int] | None, typer.Option(metavar="STATUS", help="With --call-url; else any 2xx.")] = None,
    call_command: Annotated[str | None, typer.Option(metavar="LINE", help="Run this shell line.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="With a call: such as max_retries=5; repeatable."),
    ] = None,
    run_job: Annotated[
        str | None,
        typer.Option(metavar="JOB", help="Run this job, by its id, key or name.", autocompletion=complete_job),
    ] = None,
    payload: PayloadOption = None,
    create_job: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="Make a job that runs once: its fields, but for when.")
    ] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="With --create-job: 48h later; else at once.")
    ] = None,
    on_job_conflict: Annotated[
        JobKeyConflict | None, typer.Option(help="With --create-job: when the job's key is taken; else keep.")
    ] = None,
    cancel_key: Annotated[str | None, typer.Option(metavar="TEXT", help="Cancel the jobs with this key.")] = None,
    cancel_tag: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Cancel the jobs with all of these tags; repeatable.")
    ] = None,
    publish: Annotated[str | None, typer.Option(metavar="NAME", help="Publish another event.")] = None,
    data: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="With --publish.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="TEXT", help="With --publish.")] = None,
    name: NameOption = None,
    key: KeyOption = None,
    filter: FilterOption = None,  # noqa: A002 - it is the option's name
    mode: ModeOption = None,
    priority: PriorityOption = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add it, but do not act yet.")] = False,
    dedupe: DedupeOption = None,
    rate_limit: RateLimitOption = None,
    throttle: ThrottleOption = None,
    debounce: DebounceOption = None,
    batch: BatchOption = None,
    flow_key: FlowKeyOption = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="All of it as JSON, as the HTTP API takes it; - reads stdin.")
    ] = None,
    on_conflict: Annotated[OnConflict, typer.Option(help="What to do when the key is taken.")] = OnConflict.ERROR,
) -> None:
    """
    Add an event handler: this event, this filter, this action.

    Texts of the action may hold {{ ... }} with CEL over event.
    """
    deed = Deed(
        call=call,
        handler_type=handler_type,
        call_url=call_url,
        method=method,
        header=tuple(header or ()),
        body=body,
        expect=tuple(expect or ()),
        call_command=call_command,
        set=tuple(setting or ()),
        run_job=run_job,
        payload=payload,
        create_job=create_job,
        delay=delay,
        on_job_conflict=on_job_conflict,
        cancel_key=cancel_key,
        cancel_tag=tuple(cancel_tag or ()),
        publish=publish,
        data=data,
        subject=subject,
    )
    limits = Limits(
        dedupe=dedupe, rate_limit=rate_limit, throttle=throttle, debounce=debounce, batch=batch, flow_key=flow_key
    )
    said = named(name=name, key=key, filter=filter, mode=mode, priority=priority)
    said |= {"enabled": False} if disabled else {}
    if file is not None and (pattern is not None or said or deed != Deed() or limits != Limits()):
        raise InvalidInput.of("file", "says everything; no pattern or other options go with it, but for --on-conflict")
    definition = None if file is None else read_handler(file)
    if definition is None and pattern is None:
        raise InvalidEventHandler.of("event", "is required: a pattern such as order.*; or --file with all of it")
    flow = FlowControl(**limits.given())
    async with session.connect() as scheduler:
        if definition is None:
            job_id = None if run_job is None else await find_job(scheduler, run_job)
            definition = EventHandlerDefinition(
                **cast("Any", {"event": pattern, "flow": flow} | said), action=deed.read(job_id)
            )
        handler = await scheduler.on_event(definition, on_conflict=on_conflict)
    session.output.show(handler, handler_facts)
