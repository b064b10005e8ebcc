"""`tocsin events`: sending events, what they touched, and showing past ones to a new handler."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from ...domain.errors import InvalidInput, Unavailable
from ...domain.trace import TraceContext, read_trace_context
from ...ports.queries import LIMIT_BOUNDS, EventFilter, EventHandlerFilter
from .event_lines import open_lines, read_events
from .event_sending import Refusal, Sending, Sum
from .event_views import event_list, event_outcome, event_report, replay_facts
from .exits import EVENT_HANDLER_ADVICE, ExitCode
from .inputs import read_json
from .instants import optional_bound, read_bound
from .options import EventArgument, EventHandlerArgument, Paging
from .progress import progress
from .references import event_id, find_event_handler
from .session import Session, querying, remote
from .texts import counted, visible

# \b keeps the lines below it as they are.
SEND_EXAMPLES: Final = """\b
Examples:
  tocsin events send order.created --data '{"id": 7, "total": 150}' --key order-7
  tocsin events send --file events.jsonl
  producer | tocsin events send --file -
"""

ReceivedSince = Annotated[
    str | None,
    typer.Option("--since", metavar="INSTANT", help='Received then or later: an instant, a date in UTC, "2h ago".'),
]
ReceivedUntil = Annotated[str | None, typer.Option("--until", metavar="INSTANT", help="Received then or earlier.")]


def register(events: typer.Typer) -> None:
    """Add the commands about events."""
    events.command("send", epilog=SEND_EXAMPLES)(remote(send))
    events.command("list")(remote(querying(list_events), watchable=True))
    events.command("show")(remote(show))
    events.command("replay")(remote(replay, advice=EVENT_HANDLER_ADVICE))


async def send(
    session: Session,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Such as order.created.")] = None,
    *,
    data: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="What it tells; @- reads stdin.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="The same key again happens once.")] = None,
    source: Annotated[str | None, typer.Option(metavar="TEXT", help="Who tells it.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is about.")] = None,
    time: Annotated[str | None, typer.Option(metavar="INSTANT", help="When it happened; else now.")] = None,
    correlation_id: Annotated[str | None, typer.Option(metavar="TEXT", help="Goes on to what follows.")] = None,
    traceparent: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The span that it follows from (W3C Trace Context).")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Send a file: a line each, plain or CloudEvents; - reads stdin."),
    ] = None,
    after: Annotated[int | None, typer.Option(metavar="N", help="With --file: pass over this many lines.")] = None,
) -> None:
    """
    Send an event, or a file of them.

    A line of a file that is refused is told with its number and its fields, and the others are sent; then it exits
    with 6.
    """
    told = (name, data, key, source, subject, time, correlation_id, traceparent)
    if file is not None:
        if any(each is not None for each in told):
            raise InvalidInput.of("file", "says everything; no name or other options go with it, but for --after")
        await _send_file(session, file, after or 0)
        return
    if name is None:
        raise InvalidInput.of("name", "is required, such as order.created; or --file with many events")
    if after is not None:
        raise InvalidInput.of("after", "goes with --file")
    document = None if data is None else read_json(data, "data")
    happened, trace = optional_bound(time, "time"), _trace(traceparent)
    async with session.connect() as scheduler:
        outcome = await scheduler.trigger_event(
            name,
            document,
            idempotency_key=key,
            source=source,
            subject=subject,
            time=happened,
            correlation_id=correlation_id,
            trace=trace,
        )
    session.output.show(outcome, event_outcome)


async def list_events(
    session: Session,
    *,
    name: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only of this name; repeatable.")] = None,
    prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="Only names that begin so.")] = None,
    source: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Only from there; repeatable.")] = None,
    subject: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Only about this; repeatable.")] = None,
    matched: Annotated[
        bool | None, typer.Option("--matched/--unmatched", help="Only those that a handler acted upon, or none.")
    ] = None,
    since: ReceivedSince = None,
    until: ReceivedUntil = None,
    page: Paging,
) -> None:
    """List events, newest first."""
    query = EventFilter(
        name=tuple(name or ()),
        name_prefix=prefix,
        source=tuple(source or ()),
        subject=tuple(subject or ()),
        matched=matched,
        received_after=optional_bound(since, "since", past=True),
        received_before=optional_bound(until, "until", past=True),
        **asdict(page),
    )
    async with session.connect() as scheduler:
        found = await scheduler.list_events(query)
    session.output.show_page(found, event_list)


async def show(session: Session, event: EventArgument) -> None:
    """Show an event, what it touched and why it left the rest alone, and its executions."""
    async with session.connect() as scheduler:
        report = await scheduler.get_event(event_id(event))
        touched = () if report.event.impact is None else report.event.impact.handlers
        known = EventHandlerFilter(limit=LIMIT_BOUNDS[1])
        handlers = (await scheduler.list_event_handlers(known)).items if touched and session.output.for_people else ()
    names = {each.id: each.definition.name or each.definition.key or each.definition.event for each in handlers}
    session.output.show(report, partial(event_report, names=names))


async def replay(
    session: Session,
    handler: EventHandlerArgument,
    *,
    since: Annotated[
        str, typer.Option(metavar="INSTANT", help='Received then or later: an instant, a date in UTC, "2h ago".')
    ],
    until: Annotated[str | None, typer.Option(metavar="INSTANT", help="Received before this; else now.")] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Do it, and do not only tell what it would do.")] = False,
) -> None:
    """
    Show past events to an event handler, as if it had been there.

    Without --execute it only tells what would come of it. No event is acted upon twice by one handler.
    """
    session.output.refuse_ids()
    start, end = read_bound(since, "since", past=True), optional_bound(until, "until", past=True)
    async with session.connect() as scheduler:
        handler_id = await find_event_handler(scheduler, handler)
        with progress(session.output, "replaying" if execute else "looking through events"):
            found = await scheduler.replay_events(handler_id, since=start, until=end, dry_run=not execute)
    session.output.show(found, replay_facts)
    if found.is_dry_run:
        session.output.note("nothing was done: this is what would be; --execute does it")


def _trace(traceparent: str | None) -> TraceContext | None:
    trace = read_trace_context(traceparent)
    if trace is None and traceparent is not None:
        example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        raise InvalidInput.of("traceparent", f"is malformed; expected one such as {example}")
    return trace


async def _send_file(session: Session, file: str, after: int) -> None:
    session.output.refuse_ids()
    total = Sum(line=after)
    with open_lines(file) as lines, progress(session.output, "sending", total=_lines_of(file)) as done:
        try:
            async with session.connect() as scheduler:
                sending = Sending(
                    scheduler=scheduler,
                    total=total,
                    refuse=partial(_tell, session),
                    progress=lambda reached: done(reached.line),
                )
                await sending.send(read_events(lines, after=after))
        except Unavailable:
            session.output.show(total, _words)
            session.output.note(f"all is done up to line {total.line}: go on with --after {total.line}")
            raise
    session.output.show(total, _words)
    if total.refused:
        raise typer.Exit(ExitCode.PARTLY)


def _tell(session: Session, refusal: Refusal) -> None:
    for error in refusal.errors:
        session.output.note(f"line {refusal.line}: {visible(error.field)}: {visible(error.message)}")


def _lines_of(file: str) -> int | None:
    """Count the lines of a file, for whoever looks on; nobody knows how many a pipe will have."""
    path = Path(file)
    if not sys.stderr.isatty() or not path.is_file():
        return None
    with path.open("rb") as opened:
        return sum(part.count(b"\n") for part in iter(lambda: opened.read(1 << 20), b""))


def _words(total: Sum) -> str:
    duplicates = counted(total.duplicates, "duplicate")
    return f"{total.sent} sent, {total.matched} matched, {duplicates}, {total.refused} refused"
