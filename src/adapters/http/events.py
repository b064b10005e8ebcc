"""What may be done to events, and the stream of Tocsin's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Final, cast

from aiohttp import web

from ...application.events import SYNC_SECONDS
from ...domain.errors import InvalidEvent
from ...domain.patterns import matches
from ...ports.event_requests import FeedItem
from .answers import json_answer
from .cloudevents import BODIES, IDEMPOTENCY_KEY, read_published
from .endpoint import Call, Section, endpoint
from .refusals import PositionGone
from .streams import DEADLINE, EVENT_STREAM, LAST_EVENT_ID, STREAMS, Message
from .wire import BASE
from .wire.events import EventOut, EventOutcomeOut, EventOutcomesOut, EventReportOut
from .wire.model import Nothing
from .wire.pages import EventPage, page_of
from .wire.queries import EventQuery, StreamQuery

_OUTCOMES: Final = (EventOutcomeOut, EventOutcomesOut)


@endpoint(
    "POST",
    f"{BASE}/events",
    {202: _OUTCOMES, 200: _OUTCOMES},
    bodies=BODIES,
    headers={IDEMPOTENCY_KEY: "The event's idempotency_key, where its body has none."},
)
async def trigger_event(call: Call[Nothing, Nothing]) -> web.Response:
    """
    Publish an event, or a batch; 200 with outcomes where a sync handler matched.

    Plain, or as a CloudEvent: structured, batched, or binary, with its attributes in headers `ce-…` and any body.
    """
    published = await read_published(call.request)
    _wait_longer(call.request)
    try:
        outcomes = await call.scheduler.trigger_events(published.events) if published.events else ()
    except InvalidEvent as error:
        raise published.explained(error) from None
    items = tuple(map(EventOutcomeOut.of, outcomes))
    shown = EventOutcomesOut(items=items) if published.is_batch else items[0]
    has_outcomes = any(item.outcomes is not None for item in items)
    status = HTTPStatus.OK if has_outcomes else HTTPStatus.ACCEPTED
    headers = {} if published.is_batch else {"Location": f"{BASE}/events/{items[0].event_id}"}
    return json_answer(shown, status=status, headers=headers)


def _wait_longer(request: web.Request) -> None:
    """Give sync handlers their time beside the node's own."""
    deadline = request[DEADLINE]
    if (when := deadline.when()) is not None:
        deadline.reschedule(when + SYNC_SECONDS)


@endpoint("GET", f"{BASE}/events", {200: EventPage})
async def list_events(call: Call[EventQuery, Nothing]) -> web.Response:
    """List events with what they touched, newest first."""
    page = await call.scheduler.list_events(call.query.filter())
    return json_answer(page_of(EventPage, page, EventOut.of))


@endpoint("GET", f"{BASE}/events/{{event_id}}", {200: EventReportOut})
async def get_event(call: Call[Nothing, Nothing]) -> web.Response:
    """Read an event with its impact snapshot and its executions."""
    return json_answer(EventReportOut.of_report(await call.scheduler.get_event(call.event_id)))


@endpoint(
    "GET",
    f"{BASE}/stream",
    {200: EVENT_STREAM},
    refusals=(HTTPStatus.GONE,),
    headers={LAST_EVENT_ID: "Go on behind this message."},
)
async def stream_facts(call: Call[StreamQuery, Nothing]) -> web.StreamResponse:
    """
    Send Tocsin's own facts about jobs and executions as they happen, as server-sent events.

    410 if what stood at the position is not kept any more: then look afresh, and begin without one.
    """
    after = call.request.headers.get(LAST_EVENT_ID) or call.query.after
    feed = cast("AsyncGenerator[FeedItem, None]", call.scheduler.watch(after=after))
    async with aclosing(feed):
        try:
            first = await anext(feed)
        except InvalidEvent as error:
            raise PositionGone(error.message) from None
        return await call.request.app[STREAMS].answer(call.request, _told(first, feed, call.query.names))


async def _told(
    first: FeedItem, feed: AsyncGenerator[FeedItem, None], names: tuple[str, ...]
) -> AsyncGenerator[Message, None]:
    """Word what happens, those facts that a pattern matches if there are any patterns."""
    yield _message(first)
    async for item in feed:
        if item.fact is None or not names or any(matches(pattern, item.fact.name) for pattern in names):
            yield _message(item)


def _message(item: FeedItem) -> Message:
    if item.fact is None:
        return Message(id=item.position)
    data = EventOut.of(item.fact).model_dump_json()
    return Message(id=item.position, event=item.fact.name, data=data)


EVENTS: Final = Section(name="Events", endpoints=(trigger_event, list_events, get_event, stream_facts))
