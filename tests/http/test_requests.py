"""Everything about a request that is the same for every route: host, type, size, framing, method, trace, deadline."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest

from tests.http.nodes import BASE, Api, StillNode, a_body, serving_with
from tocsin.adapters.http.app import BODY_LIMIT
from tocsin.application.scheduler import Scheduler
from tocsin.domain.errors import StoreUnavailable
from tocsin.domain.job import ScheduledJob
from tocsin.ports.scheduler import IScheduler

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1", "127.1.2.3:1", "[::1]:9", "a.localhost."])
async def test_a_node_answers_under_the_names_of_loopback(api: Api, host: str) -> None:
    assert (await api.ask("GET", "/jobs", headers={"Host": host})).status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1", "[::2]", "0x7f.1"])
@pytest.mark.parametrize("path", ["/jobs", "/health", "/docs", "/openapi.json", "/"])
async def test_a_node_does_not_answer_under_another_name(api: Api, host: str, path: str) -> None:
    answer = await api.ask("GET", path, headers={"Host": host})

    assert (answer.status, answer.body["code"]) == (403, "FORBIDDEN")


async def test_a_node_answers_under_the_names_that_it_was_given(node: StillNode) -> None:
    async with serving_with(node, hosts=frozenset({"tocsin.internal"})) as api:
        assert (await api.ask("GET", "/jobs", headers={"Host": "Tocsin.internal:8080"})).status == 200


@pytest.mark.parametrize("host", ["", "a b", "[", "x:notaport"])
async def test_a_host_that_is_none_is_refused(api: Api, host: str) -> None:
    assert (await api.ask("GET", "/jobs", headers={"Host": host})).status in {400, 403}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_page_of_another_site_changes_nothing(api: Api, site: str) -> None:
    job = await api.job()

    answer = await api.ask("POST", f"/jobs/{job['id']}/cancel", headers={"Sec-Fetch-Site": site})

    assert (answer.status, answer.body["code"]) == (403, "FORBIDDEN")
    assert (await api.ask("GET", "/jobs", headers={"Sec-Fetch-Site": site})).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "file://",
        "http://[",
        "http://localhost:9",
        "http://127.0.0.1",
        "http://localhost.evil.example",
        "http://evil.example#http://localhost",
    ],
)
async def test_a_page_of_another_origin_changes_nothing(api: Api, origin: str) -> None:
    job = await api.job()
    headers = {"Host": "localhost", "Origin": origin}

    answer = await api.ask("POST", f"/jobs/{job['id']}/trigger", headers=headers)

    assert (answer.status, answer.body["code"]) == (403, "FORBIDDEN")
    assert (await api.ask("GET", "/executions", headers=headers)).body["total"] == 0


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8080", "http://localhost:8080"),
        ("LOCALHOST", "https://localhost"),
        ("[::1]:9", "http://[::1]:9"),
        ("127.0.0.1:8080", "https://Tocsin.internal"),
        ("tocsin.internal", "https://tocsin.internal:8443"),
    ],
)
async def test_a_page_of_the_node_itself_may_change_something(node: StillNode, host: str, origin: str) -> None:
    async with serving_with(node, hosts=frozenset({"tocsin.internal"})) as api:
        job = await api.job()
        headers = {"Host": host, "Origin": origin}

        assert (await api.ask("POST", f"/jobs/{job['id']}/trigger", headers=headers)).status == 202


@pytest.mark.parametrize(
    "media",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json; charset=utf-16"],
)
async def test_a_body_that_is_not_json_is_refused(api: Api, media: str) -> None:
    answer = await api.ask("POST", "/jobs", data=json.dumps(a_body()), headers={"Content-Type": media})

    assert (answer.status, answer.body["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_body_in_another_coding_is_refused(api: Api) -> None:
    answer = await api.ask(
        "POST", "/jobs", data=b"\x1f\x8b no gzip at all", headers={**JSON, "Content-Encoding": "gzip"}
    )

    assert answer.status in {400, 415}


async def test_json_in_utf_8_may_say_so(api: Api) -> None:
    body = json.dumps(a_body(name="Glöckner"), ensure_ascii=False).encode()

    answer = await api.ask("POST", "/jobs", data=body, headers={"Content-Type": "application/json; charset=UTF-8"})

    assert (answer.status, answer.body["name"]) == (201, "Glöckner")


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"{}{}",
        b"'a'",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"name": NaN}',
        b'{"name": -Infinity}',
        b'{"payload": 1e999}',
        b'{"name": "a", "name": "b"}',
        b'{"payload": {"a": 1, "a": 1}}',
        b"[" * 100_000,
        b'{"payload":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"payload": ' + b"9" * 5000 + b"}",
    ],
)
async def test_a_body_that_cannot_be_read_is_malformed(api: Api, raw: bytes) -> None:
    answer = await api.ask("POST", "/jobs", data=raw, headers=JSON)

    assert (answer.status, answer.body["code"]) == (400, "MALFORMED")


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"x"', b"5", b"true", b'[{"name": "x"}]'])
@pytest.mark.parametrize("path", ["/jobs", "/schedules/preview"])
async def test_a_body_that_is_no_object_is_refused(api: Api, path: str, raw: bytes) -> None:
    answer = await api.ask("POST", path, data=raw, headers=JSON)

    assert (answer.status, answer.fields) == (422, ["body"])


async def chunked(size: int) -> AsyncIterator[bytes]:
    """Send so many bytes of JSON without saying how many will come."""
    body = json.dumps(a_body()).encode()
    yield body + b" " * (size - len(body))


@pytest.mark.parametrize(("size", "status"), [(BODY_LIMIT, 201), (BODY_LIMIT + 1, 413)])
async def test_a_body_may_have_a_mebibyte_however_it_is_framed(api: Api, size: int, status: int) -> None:
    framed = b"".join([part async for part in chunked(size)])

    answers = [await api.ask("POST", "/jobs", data=data, headers=JSON) for data in (BytesIO(framed), chunked(size))]

    assert [answer.status for answer in answers] == [status, status]
    assert all(answer.body.get("code") in {None, "TOO_LARGE"} for answer in answers)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/jobs", "GET, HEAD, OPTIONS, POST"),
        ("DELETE", "/executions", "GET, HEAD, OPTIONS"),
        ("GET", "/schedules/preview", "OPTIONS, POST"),
        ("TRACE", "/workers", "GET, HEAD, OPTIONS"),
        ("POST", "/health", "GET, HEAD, OPTIONS"),
    ],
)
async def test_another_method_is_told_which_there_are(api: Api, method: str, path: str, allowed: str) -> None:
    answer = await api.ask(method, path)

    assert (answer.status, answer.body["code"], answer.headers["Allow"]) == (405, "METHOD_NOT_ALLOWED", allowed)
    assert answer.body["detail"] == f"{method} is not served here; allowed: {allowed}"


async def test_options_tells_which_methods_there_are(api: Api) -> None:
    answer = await api.ask("OPTIONS", "/jobs")

    assert (answer.status, answer.headers["Allow"]) == (204, "GET, HEAD, OPTIONS, POST")
    assert "Access-Control-Allow-Origin" not in answer.headers


async def test_head_is_get_without_the_body(api: Api) -> None:
    job = await api.job()

    shown, head = [await api.ask(method, f"/jobs/{job['id']}") for method in ("GET", "HEAD")]

    assert (head.status, head.text) == (200, "")
    assert [head.headers[name] for name in ("ETag", "Content-Length")] == [
        shown.headers[name] for name in ("ETag", "Content-Length")
    ]


@pytest.mark.parametrize("path", ["/nothing", "/jobs/", "/jobs/x/y/z", "/event", "/streams", "/../../etc/passwd"])
async def test_a_path_that_is_not_served_is_a_404(api: Api, path: str) -> None:
    answer = await api.ask("GET", path)

    assert (answer.status, answer.body["code"]) == (404, "NOT_FOUND")


async def test_every_answer_tells_browsers_to_leave_it_alone(api: Api) -> None:
    for path in ("/jobs", "/nothing", "/health", "/docs"):
        answer = await api.ask("GET", path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["Server"] == "tocsin"


async def test_a_trace_goes_on_in_the_answer(api: Api) -> None:
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

    answer = await api.ask("GET", "/jobs", headers={"traceparent": f"00-{trace}-{span}-01"})

    version, same_trace, own_span, flags = answer.headers["traceparent"].split("-")
    assert (version, same_trace, flags) == ("00", trace, "01")
    assert re.fullmatch("[0-9a-f]{16}", own_span)
    assert own_span != span


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nonsense",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
    ],
)
async def test_without_a_valid_trace_a_new_one_begins(api: Api, header: str | None) -> None:
    answer = await api.ask("GET", "/jobs", headers={} if header is None else {"traceparent": header})

    begun = answer.headers["traceparent"]
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", begun)
    assert "4bf92f3577b34da6" not in begun.lower()


async def test_a_later_version_of_the_header_may_have_more(api: Api) -> None:
    later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"

    answer = await api.ask("GET", "/jobs", headers={"traceparent": later})

    assert answer.headers["traceparent"].startswith("00-4bf92f3577b34da6")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hanging(Scheduler):
    """A scheduler whose store never answers."""

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        await asyncio.Event().wait()
        raise StoreUnavailable(str(job_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken(Scheduler):
    """A scheduler that fails as nobody foresaw."""

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        raise LookupError(f"secret detail of {job_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable(Scheduler):
    """A scheduler whose store is gone."""

    async def get_job(self, job_id: UUID) -> ScheduledJob:
        raise StoreUnavailable(f"the database did not answer about {job_id}")


def as_a(kind: type[Scheduler], scheduler: Scheduler) -> IScheduler:
    parts: dict[str, Any] = {name: getattr(scheduler, name) for name in Scheduler.__dataclass_fields__}
    return kind(**parts)


async def test_a_store_that_hangs_does_not_hold_its_callers(node: StillNode) -> None:
    async with serving_with(node, scheduler=as_a(Hanging, node.scheduler), deadline_seconds=0.01) as api:
        answer = await api.ask("GET", f"/jobs/{UUID(int=7)}")

    assert (answer.status, answer.body["code"], answer.headers["Retry-After"]) == (503, "UNAVAILABLE", "1")


async def test_a_store_that_is_gone_is_a_503(node: StillNode) -> None:
    async with serving_with(node, scheduler=as_a(Unavailable, node.scheduler)) as api:
        answer = await api.ask("GET", f"/jobs/{UUID(int=7)}")

    assert (answer.status, answer.body["code"], answer.headers["Retry-After"]) == (503, "UNAVAILABLE", "1")


async def test_what_nobody_foresaw_is_logged_and_told_to_nobody(node: StillNode) -> None:
    async with serving_with(node, scheduler=as_a(Broken, node.scheduler)) as api:
        answer = await api.ask("GET", f"/jobs/{UUID(int=7)}")

    assert (answer.status, answer.body["code"]) == (500, "INTERNAL")
    assert "secret detail" not in answer.text
    assert "secret detail" in node.log.getvalue()


async def test_a_problem_says_what_rfc_9457_wants(api: Api) -> None:
    answer = await api.ask("GET", "/jobs/x")

    assert answer.headers["Content-Type"].startswith("application/problem+json")
    assert answer.body == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "no job x",
        "code": "JOB_NOT_FOUND",
        "job_id": "x",
    }


async def test_a_body_that_ends_early_harms_nobody(api: Api) -> None:
    host, port = api.client.host, api.client.port
    reader, writer = await asyncio.open_connection(host, port)
    head = (
        f"POST {BASE}/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    )
    writer.write(head.encode() + b'{"name":')
    writer.write_eof()
    await reader.read()
    writer.close()
    await writer.wait_closed()

    assert (await api.ask("GET", "/jobs")).body["total"] == 0


@pytest.mark.parametrize("framing", [b"Host: localhost\r\nHost: localhost\r\n", b""])
async def test_a_request_names_exactly_one_host(api: Api, framing: bytes) -> None:
    reader, writer = await asyncio.open_connection(api.client.host, api.client.port)
    writer.write(b"GET /health HTTP/1.1\r\nConnection: close\r\n" + framing + b"\r\n")

    answer = await reader.read()

    writer.close()
    await writer.wait_closed()
    assert answer.split(b" ", 2)[1] == b"400"
