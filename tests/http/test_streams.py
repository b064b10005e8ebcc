"""Server-sent events: what is sent, from where, to how many, and when it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from aiohttp import ClientResponse, ClientSession, web
from aiohttp.test_utils import TestServer

from tests.contracts.steps import claim
from tests.http.nodes import BASE, NOBODY, Api, StillNode, serving_with
from tests.makers import START, a_definition, a_success
from tocsin.adapters.http import HttpScheduler, create_app
from tocsin.adapters.http.streams import DEADLINE, STREAMS, Message, Streams
from tocsin.domain.errors import StoreUnavailable
from tocsin.ports.event_requests import FeedItem
from tocsin.ports.ledger import LogLine


@asynccontextmanager
async def a_stream(api: Api, path: str, **headers: str) -> AsyncIterator[ClientResponse]:
    async with asyncio.timeout(20), api.client.get(BASE + path, headers=headers) as response:
        yield response


async def a_message(response: ClientResponse) -> dict[str, str]:
    """Read the next message that has data."""
    fields: dict[str, str] = {}
    while True:
        line = (await response.content.readline()).decode()
        if not line or (line == "\n" and "data" in fields):
            return fields
        if line == "\n":
            fields = {}
            continue
        name, _, value = line.rstrip("\n").partition(": ")
        fields[name] = value


async def messages_of(response: ClientResponse) -> list[dict[str, str]]:
    """Read what is left."""
    messages = []
    while "data" in (message := await a_message(response)):
        messages.append(message)
    return messages


async def heartbeats(response: ClientResponse, count: int) -> None:
    """Read until so many comments came by."""
    for _ in range(count):
        while await response.content.readline() != b":\n":
            continue


async def an_execution(node: StillNode, *, lines: int) -> UUID:
    """Make an execution that ran, said something and ended."""
    job = await node.scheduler.schedule(a_definition())
    execution = await node.scheduler.trigger_job(job.id)
    [attempt] = await claim(node.storage, execution)
    said = [
        LogLine(execution_id=execution.id, attempt=1, sequence=n, logged_at=START, level="info", message=f"line {n}")
        for n in range(1, lines + 1)
    ]
    await node.storage.ledger.append_logs(said)
    await node.storage.ledger.finish([a_success(attempt)])
    return execution.id


async def test_facts_are_sent_as_they_happen(api: Api) -> None:
    async with a_stream(api, "/stream") as response:
        assert await response.content.readline() == b"retry: 2000\n"
        job = await api.job()
        message = await a_message(response)

    assert (response.status, response.content_type) == (200, "text/event-stream")
    assert response.headers["Cache-Control"] == "no-store"
    fact = json.loads(message["data"])
    assert message["event"] == fact["name"] == "tocsin.job.created"
    assert (fact["subject"], fact["data"]["job_id"]) == (f"job/{job['id']}", job["id"])
    assert {"id", "time", "trace_id"} <= set(fact)


@pytest.mark.parametrize("way", ["header", "query"])
async def test_a_stream_goes_on_behind_a_message(api: Api, way: str) -> None:
    async with a_stream(api, "/stream") as response:
        await response.content.readline()
        job = await api.job()
        await api.ask("POST", f"/jobs/{job['id']}/pause")
        first, second = await a_message(response), await a_message(response)

    named = {"Last-Event-ID": first["id"]} if way == "header" else {}
    path = "/stream?after=never" if way == "header" else f"/stream?after={first['id']}"
    async with a_stream(api, path, **named) as response:
        assert await a_message(response) == second


async def test_only_facts_whose_names_match_are_sent(api: Api) -> None:
    async with a_stream(api, "/stream?names=tocsin.job.paused&names=tocsin.execution.*") as response:
        await response.content.readline()
        job = await api.job()
        await api.ask("POST", f"/jobs/{job['id']}/pause")

        assert (await a_message(response))["event"] == "tocsin.job.paused"


async def test_a_position_that_is_not_kept_is_gone(api: Api) -> None:
    answer = await api.ask("GET", "/stream", headers={"Last-Event-ID": "never"})

    assert (answer.status, answer.body["code"]) == (410, "POSITION_GONE")


async def test_a_pattern_that_is_none_is_refused(api: Api) -> None:
    answer = await api.ask("GET", "/stream?names=a..b")

    assert (answer.status, answer.body["code"], answer.fields) == (422, "INVALID_EVENT", ["names.0"])


async def test_a_stream_outlasts_the_deadline_of_requests(node: StillNode) -> None:
    async with serving_with(node, deadline_seconds=0.2) as api:
        _streams(api).heartbeat_seconds = 0.05
        async with a_stream(api, "/stream") as response:
            await heartbeats(response, 10)
            await api.job()

            assert (await a_message(response))["event"] == "tocsin.job.created"


async def test_a_silent_stream_is_kept_alive(api: Api) -> None:
    _streams(api).heartbeat_seconds = 0.01

    async with a_stream(api, "/stream") as response:
        await heartbeats(response, 2)


async def test_a_node_has_only_so_many_streams_open(api: Api) -> None:
    streams = _streams(api)
    streams.limit = 1
    async with a_stream(api, "/stream") as response:
        await response.content.readline()
        refused = await api.ask("GET", "/stream")

    assert (refused.status, refused.body["code"], refused.headers["Retry-After"]) == (503, "UNAVAILABLE", "1")


async def test_the_place_of_a_reader_who_left_is_free_again(api: Api) -> None:
    _streams(api).limit = 1
    async with a_stream(api, "/stream") as response:
        await response.content.readline()

    async with asyncio.timeout(20):
        while True:
            async with a_stream(api, "/stream") as response:
                if response.status == 200:
                    return
                await asyncio.sleep(0.05)


async def test_streams_end_when_the_node_stops(node: StillNode) -> None:
    async with (
        TestServer(create_app(node.face())) as server,
        ClientSession() as session,
        asyncio.timeout(20),
        session.get(server.make_url(f"{BASE}/stream")) as response,
    ):
        await response.content.readline()
        await server.close()

        assert (await response.content.read()).endswith(b"\n")


async def test_a_node_that_stops_opens_no_more_streams(api: Api) -> None:
    await _streams(api).close()

    assert (await api.ask("GET", "/stream")).status == 503


async def test_a_reader_that_does_not_read_is_dropped() -> None:
    streams, ended = Streams(write_seconds=0.05), asyncio.Event()

    async def pour() -> AsyncGenerator[Message, None]:
        try:
            while True:
                yield Message(data="x" * 1_000_000)
        finally:
            ended.set()

    async def answer(request: web.Request) -> web.StreamResponse:
        async with asyncio.timeout(None) as request[DEADLINE]:
            return await streams.answer(request, pour())

    app = web.Application()
    app.router.add_get("/", answer)
    async with TestServer(app) as server, asyncio.timeout(20):
        _, writer = await asyncio.open_connection(server.host, server.port, limit=1024)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await ended.wait()
        writer.close()


async def test_head_of_a_stream_ends_at_once(api: Api) -> None:
    async with asyncio.timeout(20), api.client.head(f"{BASE}/stream") as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")


@pytest.mark.parametrize("way", ["follow=1", "follow=true", "accept"])
async def test_a_log_is_followed_to_its_end(api: Api, node: StillNode, way: str) -> None:
    execution_id = await an_execution(node, lines=3)
    query, headers = ("", {"Accept": "text/event-stream"}) if way == "accept" else (f"?{way}", {})

    async with a_stream(api, f"/executions/{execution_id}/logs{query}", **headers) as response:
        messages = await messages_of(response)

    assert [(message.get("id"), message["event"]) for message in messages] == [
        ("1", "line"),
        ("2", "line"),
        ("3", "line"),
        (None, "end"),
    ]
    assert json.loads(messages[1]["data"])["message"] == "line 2"
    assert json.loads(messages[3]["data"]) == {"status": "success"}


async def test_a_log_is_followed_from_the_last_line_seen(api: Api, node: StillNode) -> None:
    execution_id = await an_execution(node, lines=3)

    async with a_stream(api, f"/executions/{execution_id}/logs?follow=1", **{"Last-Event-ID": "2"}) as response:
        messages = await messages_of(response)

    assert [message["event"] for message in messages] == ["line", "end"]
    assert messages[0]["id"] == "3"


async def test_a_log_without_follow_is_a_page(api: Api, node: StillNode) -> None:
    execution_id = await an_execution(node, lines=3)

    answer = await api.ask("GET", f"/executions/{execution_id}/logs?after=1&limit=1&follow=0")

    assert [line["message"] for line in answer.body["items"]] == ["line 2"]


async def test_the_log_of_nobody_is_a_404(api: Api) -> None:
    answer = await api.ask("GET", f"/executions/{NOBODY}/logs?follow=1")

    assert (answer.status, answer.body["code"]) == (404, "EXECUTION_NOT_FOUND")


async def test_a_client_goes_on_where_a_stream_was_cut(node: StillNode) -> None:
    asked: list[str | None] = []

    async def cut(request: web.Request) -> web.StreamResponse:
        asked.append(request.headers.get("Last-Event-ID"))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(f"retry: 1\n\n:\n\nid: {len(asked)}\n\n".encode())
        assert request.transport is not None
        request.transport.abort()
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", cut)
    async with TestServer(app) as server, HttpScheduler(str(server.make_url("/"))) as client:
        feed = client.watch()
        told = [await anext(feed) for _ in range(3)]

    assert told == [FeedItem(position=str(number), fact=None) for number in (1, 2, 3)]
    assert asked == [None, "1", "2"]
    assert node.is_ready


async def test_a_client_gives_up_when_nobody_is_there() -> None:
    async with HttpScheduler("http://127.0.0.1:9") as client:
        with pytest.raises(StoreUnavailable):
            await anext(client.watch())


def _streams(api: Api) -> Streams:
    app = api.client.app
    assert app is not None
    streams: Streams = app[STREAMS]
    return streams
