"""What the client makes of servers that are not there, not well, or not Tocsin."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer, unused_port

from tests.http.nodes import StillNode
from tests.makers import a_definition
from tocsin.adapters.http import HttpScheduler, ServerUnreachable, UnexpectedAnswer, create_app
from tocsin.domain.errors import InvalidInput, InvalidJob, StoreUnavailable, VersionConflict
from tocsin.ports.reports import ComponentHealth, Health, HealthStatus
from tocsin.ports.scheduler import IScheduler

Answers = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def a_client_of(answers: Answers, *, total_seconds: float = 5) -> AsyncIterator[IScheduler]:
    """Speak to a server that answers everything in one way."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answers)
    async with TestServer(app) as server:
        address = str(server.make_url("/"))
        async with HttpScheduler(address, total_seconds=total_seconds) as client:
            yield client


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_that_is_not_there_is_told_in_plain_words(scheme: str) -> None:
    address = f"{scheme}://127.0.0.1:{unused_port()}"
    async with HttpScheduler(address) as client:
        with pytest.raises(ServerUnreachable) as refused:
            await client.list_jobs()

    assert str(refused.value) == f"no answer from {address}: nothing listens there"
    assert isinstance(refused.value, StoreUnavailable)
    assert refused.value.code == "UNAVAILABLE"


async def test_a_server_that_does_not_answer_in_time_is_given_up() -> None:
    released = asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        await released.wait()
        return web.Response()

    async with a_client_of(hang, total_seconds=0.05) as client:
        with pytest.raises(ServerUnreachable, match="timed out"):
            await client.list_jobs()
        released.set()


@pytest.mark.parametrize(
    ("scheme", "said", "expected"),
    [
        ("http", b"", "the connection was closed before an answer came"),
        ("http", b"SSH-2.0-OpenSSH_9.6\r\n", "what answers there does not speak HTTP"),
        ("https", b"HTTP/1.1 200 OK\r\n\r\n", "no connection could be made"),
    ],
)
async def test_what_speaks_something_else_is_told_in_plain_words(scheme: str, said: bytes, expected: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with HttpScheduler(f"{scheme}://127.0.0.1:{port}") as client:
            with pytest.raises(ServerUnreachable, match=f": {expected}$"):
                await client.list_jobs()


@pytest.mark.parametrize(
    ("status", "text"), [(200, "<html>hello</html>"), (200, "{}"), (404, "not here"), (302, ""), (502, "bad gateway")]
)
async def test_something_else_that_answers_is_no_tocsin_server(status: int, text: str) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text)

    async with a_client_of(answer) as client:
        with pytest.raises(UnexpectedAnswer) as refused:
            await client.list_jobs()

    assert refused.value.status == status


async def test_a_problem_that_the_port_does_not_know_keeps_its_code(node: StillNode) -> None:
    async with (
        TestServer(create_app(node.face())) as server,
        ClientSession(headers={"Host": "evil.example"}) as session,
    ):
        client = HttpScheduler(str(server.make_url("/")), session=session)
        with pytest.raises(UnexpectedAnswer) as refused:
            await client.list_jobs()
        assert not session.closed

    assert (refused.value.status, refused.value.problem_code) == (403, "FORBIDDEN")


async def test_a_version_that_cannot_be_is_a_conflict_all_the_same(node: StillNode) -> None:
    async with TestServer(create_app(node.face())) as server, HttpScheduler(str(server.make_url("/"))) as client:
        job = await client.schedule(a_definition())
        with pytest.raises(VersionConflict):
            await client.pause_job(job.id, expected_version=0)


async def test_an_unhealthy_server_still_says_how_it_is(node: StillNode) -> None:
    async def check() -> Health:
        return Health(
            status=HealthStatus.UNHEALTHY,
            components={"store": ComponentHealth(status=HealthStatus.UNHEALTHY, detail="gone")},
            issues=["store: gone"],
            timestamp=node.clock.now(),
            uptime_seconds=1.5,
        )

    face = replace(node.face(), scheduler=replace(node.scheduler, health=check))
    async with TestServer(create_app(face)) as server, HttpScheduler(str(server.make_url("/"))) as client:
        assert await client.health_check() == await check()


async def test_a_server_without_its_store_is_unavailable() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        problem = {"title": "x", "status": 503, "detail": "the database is gone", "code": "UNAVAILABLE"}
        return web.json_response(problem, status=503)

    async with a_client_of(answer) as client:
        for asked in (client.list_jobs(), client.health_check()):
            with pytest.raises(StoreUnavailable, match="the database is gone"):
                await asked


@pytest.mark.parametrize("address", ["", "localhost:8080", "ftp://localhost", "http://", "http://x:99999"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        HttpScheduler(address)

    assert [error.field for error in refused.value.errors] == ["base_url"]


async def test_an_address_may_have_a_path_in_front(node: StillNode) -> None:
    outer = web.Application()
    outer.add_subapp("/tocsin/", create_app(node.face()))
    async with TestServer(outer) as server, HttpScheduler(str(server.make_url("/tocsin"))) as client:
        assert (await client.list_jobs()).total == 0


@pytest.mark.parametrize("payload", [{"a": object()}, {"a": float("nan")}, {"a": "\ud800"}])
async def test_what_is_no_json_is_refused_before_it_is_sent(node: StillNode, payload: dict[str, object]) -> None:
    async with TestServer(create_app(node.face())) as server, HttpScheduler(str(server.make_url("/"))) as client:
        with pytest.raises(InvalidJob) as refused:
            await client.trigger_job(UUID(int=1), payload=payload)  # type: ignore[arg-type]  # what is refused

    assert [error.field for error in refused.value.errors] == ["payload"]


async def test_a_client_must_be_entered_and_leaves_nothing_open() -> None:
    client = HttpScheduler("http://localhost:1")
    with pytest.raises(RuntimeError, match="async with"):
        await client.list_jobs()
    async with client:
        pass
    gc.collect()
