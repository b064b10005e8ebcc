from __future__ import annotations

import asyncio
import json
import socket
from typing import TypedDict

import pytest
from aiohttp import web

from tests.application.rig import Notes
from tests.handlers.contexts import a_context
from tests.handlers.server import Answer, calling, serving
from tocsin.adapters.handlers.client import OutgoingClient
from tocsin.adapters.handlers.http import BODY_LIMIT, HttpHandler
from tocsin.adapters.handlers.targets import TargetPolicy, TargetRefused
from tocsin.domain.errors import HandlerFailed, InvalidJob
from tocsin.domain.json import Json, storable
from tocsin.domain.trace import TraceContext, read_trace_context
from tocsin.ports.telemetry import SpanKind


class Told(TypedDict, total=False):
    """What a context says beside the payload."""

    trace: TraceContext
    idempotency_key: str


COMPLETE: dict[str, Json] = {"method": "GET", "url": "https://example.com/"}


async def call(answer: Answer, told: Told | None = None, **payload: Json) -> Json:
    async with serving(answer) as url, calling() as client:
        sent = {"method": "GET", "url": str(url / "path"), **payload}
        result = await HttpHandler(client)(a_context(sent, **(told or {})))
        return storable(result)


async def echo(request: web.Request) -> web.Response:
    return web.json_response(
        {
            "method": request.method,
            "headers": {name.lower(): value for name, value in request.headers.items()},
            "body": (await request.read()).decode(),
        },
    )


async def echoed(told: Told | None = None, **payload: Json) -> dict[str, object]:
    result = await call(echo, told, **payload)
    return json.loads(json.dumps(result))["body"]  # type: ignore[no-any-return]


def answering(body: str | bytes, *, status: int = 200, **headers: str) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(body=raw, status=status, headers={n.replace("_", "-"): v for n, v in headers.items()})

    return answer


async def test_the_answer_is_the_result() -> None:
    result = await call(answering('{"rows": 3}', content_type="application/json", etag='"7"', set_cookie="a=b"))

    assert result == {
        "status": 200,
        "headers": {"content-type": "application/json", "etag": '"7"'},
        "body": {"rows": 3},
    }


async def test_the_call_tells_which_attempt_it_is() -> None:
    trace = TraceContext(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331")

    headers = (await echoed({"trace": trace}))["headers"]

    assert isinstance(headers, dict)
    assert headers["idempotency-key"] == "key-1"
    assert headers["tocsin-attempt"] == "2"
    assert headers["tocsin-execution-id"] == "01890a5d-ac96-774b-bcce-b302099a8057"
    assert headers["tocsin-scheduled-at"] == "2026-03-01T12:00:00Z"
    assert headers["traceparent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_the_state_of_a_trace_goes_along() -> None:
    trace = TraceContext(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331", tracestate="a=1,b=2")

    headers = (await echoed({"trace": trace}))["headers"]

    assert isinstance(headers, dict)
    assert headers["tracestate"] == "a=1,b=2"


async def test_where_spans_are_recorded_a_call_is_one_and_names_itself() -> None:
    trace = TraceContext(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331")
    notes = Notes()
    notes.records = True

    async with serving(echo) as url, calling(telemetry=notes) as client:
        payload = {"method": "POST", "url": str(url / "path" % {"key": "secret"})}
        answer = await HttpHandler(client)(a_context(payload, trace=trace))
    [span] = notes.spans

    assert (span.name, span.kind, span.parent) == ("POST", SpanKind.CLIENT, trace)
    assert span.attributes == {
        "http.request.method": "POST",
        "server.address": "127.0.0.1",
        "server.port": url.port,
        "url.full": str(url / "path"),
    }
    sent = storable(answer)["body"]["headers"]["traceparent"]  # type: ignore[index, call-overload]  # JSON that is known.
    assert read_trace_context(str(sent)) not in {None, trace}
    assert str(sent).startswith(f"00-{trace.trace_id}-")


async def test_an_idempotency_key_cannot_smuggle_a_header() -> None:
    headers = (await echoed({"idempotency_key": "a\r\nX-Evil: 1 é"}))["headers"]

    assert isinstance(headers, dict)
    assert headers["idempotency-key"] == "a%0D%0AX-Evil: 1 %C3%A9"
    assert "x-evil" not in headers


@pytest.mark.parametrize(
    ("payload", "sent", "content_type"),
    [
        ({"body": {"a": [1, "é"]}}, '{"a":[1,"é"]}', "application/json"),
        ({"body": "text"}, '"text"', "application/json"),
        ({"body": "text", "headers": {"content-type": "text/plain"}}, "text", "text/plain"),
        ({"body": "text", "headers": {"Content-Type": "application/ld+json"}}, '"text"', "application/ld+json"),
        ({"body": False}, "false", "application/json"),
    ],
)
async def test_a_body_is_sent_as_json_unless_it_is_text_of_another_type(
    payload: dict[str, Json],
    sent: str,
    content_type: str,
) -> None:
    request = await echoed(None, method="post", **payload)

    assert request["method"] == "POST"
    assert request["body"] == sent
    assert isinstance(request["headers"], dict)
    assert request["headers"]["content-type"] == content_type


@pytest.mark.parametrize("status", [300, 302, 404, 500])
async def test_a_status_that_is_not_expected_fails_and_keeps_the_answer(status: int) -> None:
    with pytest.raises(HandlerFailed, match=f"status {status}") as failure:
        await call(answering("oops", status=status, location="http://127.0.0.1:9/elsewhere"))

    assert isinstance(failure.value.result, dict)
    assert failure.value.result["status"] == status
    assert failure.value.result["body"] == "oops"


async def test_expected_statuses_replace_the_usual_ones() -> None:
    assert await call(answering("", status=404), expect=[404, 410])
    with pytest.raises(HandlerFailed, match="status 200"):
        await call(answering("", status=200), expect=[404, 410])


@pytest.mark.parametrize(
    ("body", "content_type", "kept"),
    [
        (b"", "application/json", None),
        (b"{broken", "application/json", "{broken"),
        (b"[" * 60_000, "application/json", "[" * 60_000),
        (b"[NaN]", "application/json", [None]),
        (b"caf\xe9", "text/plain; charset=latin-1", "café"),
        (b"caf\xe9", "text/plain; charset=unheard-of", "caf\ufffd"),
        (b'{"a": 1}', "text/plain", '{"a": 1}'),
        (b"a\x00\x01b\r\n\tc", "application/octet-stream", "a\ufffd\ufffdb\r\n\tc"),
    ],
)
async def test_any_body_can_be_kept(body: bytes, content_type: str, kept: Json) -> None:
    result = await call(answering(body, content_type=content_type))

    assert isinstance(result, dict)
    assert result["body"] == kept


@pytest.mark.parametrize("byte", [b"x", b"\x01", b"\xff", b'"', b"\n"])
async def test_a_large_body_is_cut_and_still_fits_a_result(byte: bytes) -> None:
    result = await call(answering(byte * (3 * BODY_LIMIT), content_type="application/json"))

    assert isinstance(result, dict)
    assert isinstance(result["body"], str)
    assert result["truncated"] is True
    assert len(result["body"]) == BODY_LIMIT


async def test_cookies_are_not_kept_between_calls() -> None:
    cookies = list[str | None]()

    async def answer(request: web.Request) -> web.Response:
        cookies.append(request.headers.get("Cookie"))
        return web.Response(headers={"Set-Cookie": "session=1; Path=/"})

    async with serving(answer) as url, calling() as client:
        for _ in range(2):
            await HttpHandler(client)(a_context({"method": "GET", "url": str(url)}))

    assert cookies == [None, None]


async def test_a_call_that_takes_too_long_fails_without_its_query_in_the_message() -> None:
    never = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await never.wait()
        return web.Response()

    async with serving(hang) as url, calling() as client:
        payload: Json = {"method": "GET", "url": str(url / "path" % {"token": "secret"}), "timeout_ms": 50}
        with pytest.raises(HandlerFailed, match="no complete answer in time") as failure:
            await HttpHandler(client)(a_context(payload))

    assert "secret" not in str(failure.value)


async def test_a_body_that_never_ends_fails_in_time() -> None:
    never = asyncio.Event()

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"begin")
        await never.wait()
        return response

    with pytest.raises(HandlerFailed, match="no complete answer in time"):
        await call(trickle, timeout_ms=50)


async def test_a_server_that_is_not_there_fails_with_a_reason() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with calling() as client:
            with pytest.raises(HandlerFailed, match=f"GET http://127.0.0.1:{port}: .*refused"):
                await HttpHandler(client)(
                    a_context({"method": "GET", "url": f"http://127.0.0.1:{port}/x?token=secret"})
                )


async def test_a_server_that_hangs_up_fails_with_a_reason() -> None:
    async def hang_up(request: web.Request) -> web.Response:
        assert request.transport
        request.transport.abort()
        return web.Response()

    with pytest.raises(HandlerFailed, match="GET http://127"):
        await call(hang_up)


async def test_an_answer_that_is_not_http_fails_without_the_query_in_the_message() -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server, calling() as client:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(HandlerFailed, match=f"GET http://127.0.0.1:{port}: ") as failure:
            await HttpHandler(client)(a_context({"method": "GET", "url": f"http://127.0.0.1:{port}/?token=secret"}))

    assert "secret" not in str(failure.value)


async def test_a_name_that_leads_to_this_node_is_refused_when_it_is_called() -> None:
    async with calling("10.0.0.0/8") as client:
        with pytest.raises(TargetRefused, match="localhost has an address that is not public"):
            await HttpHandler(client)(a_context({"method": "GET", "url": "http://localhost:9/"}))


async def test_an_allowed_name_is_called() -> None:
    async with serving(echo) as url, calling("localhost") as client:
        result = await HttpHandler(client)(a_context({"method": "GET", "url": str(url.with_host("localhost"))}))

    assert isinstance(result, dict)
    assert result["status"] == 200


async def test_a_redirect_to_this_node_is_not_followed() -> None:
    calls = list[str]()

    async def redirect(request: web.Request) -> web.Response:
        calls.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    await call(redirect, expect=[302])

    assert calls == ["/path"]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"method": "BREW"}, "payload.method", "must be 'GET'"),
        ({"method": 1}, "payload.method", "must be 'GET'"),
        ({"url": 7}, "payload.url", "must be a string"),
        ({"url": "x" * 8193}, "payload.url", "at most 8192 characters"),
        ({"url": "ftp://example.com/"}, "payload.url", "must start with http"),
        ({"url": "http://2130706433/"}, "payload.url", "not a public address"),
        ({"headers": []}, "payload.headers", "must be a JSON object"),
        ({"headers": {"X": 1}}, "payload.headers.X", "must be a string"),
        ({"headers": {"X": "a\r\nb"}}, "payload.headers.X", "control characters"),
        ({"headers": {"a b": "c"}}, "payload.headers.a b", "not a header name"),
        ({"headers": {"IDEMPOTENCY-KEY": "x"}}, "payload.headers.IDEMPOTENCY-KEY", "sent by Tocsin"),
        ({"headers": {"TraceParent": "x"}}, "payload.headers.TraceParent", "sent by Tocsin"),
        ({"headers": {"Host": "x"}}, "payload.headers.Host", "follows from the call"),
        ({"headers": {"Content-Length": "1"}}, "payload.headers.Content-Length", "follows from the call"),
        ({"expect": []}, "payload.expect", "at least 1 item"),
        ({"expect": 200}, "payload.expect", "must be a list"),
        ({"expect": [99]}, "payload.expect.0", "greater than or equal to 100"),
        ({"expect": [600]}, "payload.expect.0", "less than or equal to 599"),
        ({"expect": [True]}, "payload.expect.0", "whole number"),
        ({"timeout_ms": 0}, "payload.timeout_ms", "greater than or equal to 1"),
        ({"timeout_ms": 86_400_001}, "payload.timeout_ms", "less than or equal to 86400000"),
        ({"timeout_ms": "5"}, "payload.timeout_ms", "whole number"),
        ({"retries": 3}, "payload.retries", "not a known field"),
    ],
)
def test_a_field_out_of_bounds_is_refused_by_name(change: dict[str, Json], field: str, message: str) -> None:
    with pytest.raises(InvalidJob) as refusal:
        HttpHandler(OutgoingClient(TargetPolicy())).check(COMPLETE | change)

    (error,) = refusal.value.errors
    assert error.field == field
    assert message in error.message


@pytest.mark.parametrize("payload", [None, [], "text", 7])
def test_a_payload_that_is_no_object_is_refused(payload: Json) -> None:
    with pytest.raises(InvalidJob, match="payload: must be a JSON object"):
        HttpHandler(OutgoingClient(TargetPolicy())).check(payload)


def test_every_missing_field_is_named() -> None:
    with pytest.raises(InvalidJob, match=r"^payload\.method: is required; payload\.url: is required$"):
        HttpHandler(OutgoingClient(TargetPolicy())).check({})


def test_a_payload_at_its_bounds_is_accepted() -> None:
    handler = HttpHandler(OutgoingClient(TargetPolicy()))
    changes: list[dict[str, Json]] = [
        {"method": "get"},
        {"expect": [100, 599]},
        {"timeout_ms": 1},
        {"timeout_ms": 86_400_000},
        {"headers": {"X": "ü"}},
    ]
    for change in changes:
        handler.check(COMPLETE | change)
