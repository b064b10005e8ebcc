"""Events over HTTP: every way in, what each route answers, and what it refuses."""

from __future__ import annotations

import json
from base64 import b64encode
from io import BytesIO
from typing import Any

import pytest

from tests.http.nodes import BASE, NOBODY, Api, StillNode
from tocsin.domain.json import EVENT_LIMIT

STRUCTURED = {"Content-Type": "application/cloudevents+json"}
BATCHED = {"Content-Type": "application/cloudevents-batch+json"}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


def a_cloudevent(**attributes: object) -> dict[str, object]:
    """A CloudEvent as others send it; an attribute given as `...` is left out."""
    sound = {"specversion": "1.0", "id": "1", "source": "https://shop.example.com", "type": "order.created"}
    return {name: value for name, value in {**sound, **attributes}.items() if value is not ...}


def in_headers(**attributes: object) -> dict[str, str]:
    return {f"ce-{name}": str(value) for name, value in a_cloudevent(**attributes).items()}


async def published(api: Api, event: object, **options: Any) -> Any:  # noqa: ANN401 - JSON
    """Publish one event, and give it as it is kept."""
    answer = await api.ask("POST", "/events", data=json.dumps(event), **options)
    assert answer.status == 202, answer.text
    return (await api.ask("GET", f"/events/{answer.body['event_id']}")).body


async def a_running_rule(api: Api, **fields: object) -> Any:  # noqa: ANN401 - JSON
    job = await api.job(type="event", schedule=...)
    action = {"type": "run_job", "job_id": job["id"]}
    answer = await api.ask("POST", "/event-handlers", {"event": "order.*", "action": action, **fields})
    assert answer.status == 201, answer.text
    return answer.body


async def test_an_event_is_answered_with_what_it_touched(api: Api) -> None:
    await a_running_rule(api)

    answer = await api.ask("POST", "/events", {"name": "order.created", "data": {"order": 7}, "idempotency_key": "k"})
    again = await api.ask("POST", "/events", {"name": "order.created", "idempotency_key": "k"})

    [execution_id] = answer.body["executions"]
    assert (answer.status, answer.body["matched"], answer.body["duplicate"]) == (202, 1, False)
    assert answer.headers["Location"] == f"{BASE}/events/{answer.body['event_id']}"
    assert again.body == {**answer.body, "duplicate": True}
    execution = (await api.ask("GET", f"/executions/{execution_id}")).body
    assert (execution["origin"], execution["event_id"]) == ("event", answer.body["event_id"])
    listed = (await api.ask("GET", f"/executions?event_id={answer.body['event_id']}")).body
    assert [each["id"] for each in listed["items"]] == [execution_id]


async def test_an_event_is_shown_with_its_impact_and_executions(api: Api) -> None:
    rule = await a_running_rule(api)
    outcome = (await api.ask("POST", "/events", {"name": "order.created"})).body

    event = (await api.ask("GET", f"/events/{outcome['event_id']}")).body

    [told] = event["impact"]["handlers"]
    assert (event["name"], event["origin"], event["impact"]["matched"]) == ("order.created", "http", 1)
    assert (told["handler_id"], told["handler_version"], told["touch"]) == (rule["id"], 1, "acted")
    assert told["execution_ids"] == outcome["executions"] == [each["id"] for each in event["executions"]]


async def test_an_unknown_event_is_taken_and_seen(api: Api) -> None:
    answer = await api.ask("POST", "/events", {"name": "nobody.knows"})

    assert (answer.status, answer.body["matched"], answer.body["executions"]) == (202, 0, [])
    listed = (await api.ask("GET", "/events?matched=false&name=nobody.knows")).body
    assert [each["id"] for each in listed["items"]] == [answer.body["event_id"]]


async def test_a_list_of_events_is_answered_as_a_list(api: Api) -> None:
    answer = await api.ask("POST", "/events", [{"name": "a"}, {"name": "b"}])

    assert (answer.status, len(answer.body["items"])) == (202, 2)


async def test_a_structured_cloudevent_becomes_an_event(api: Api) -> None:
    event = await published(
        api,
        a_cloudevent(
            subject="order/7",
            time="2026-01-01T01:00:00+01:00",
            datacontenttype="application/json",
            dataschema="https://shop.example.com/order",
            data={"order": 7},
            region="eu",
            number=5,
            flag=True,
            absent=None,
            correlationid="c-1",
            traceparent=f"00-{TRACE}-{SPAN}-01",
            tracestate="vendor=1",
        ),
        headers=STRUCTURED,
    )

    assert (event["name"], event["source"], event["subject"]) == (
        "order.created",
        "https://shop.example.com",
        "order/7",
    )
    assert (event["time"], event["data"], event["origin"]) == ("2026-01-01T00:00:00Z", {"order": 7}, "cloudevents")
    assert (event["idempotency_key"], event["correlation_id"]) == ("https://shop.example.com#1", "c-1")
    assert (event["trace_id"], event["parent_span_id"], event["tracestate"]) == (TRACE, SPAN, "vendor=1")
    assert event["attributes"] == {
        "datacontenttype": "application/json",
        "dataschema": "https://shop.example.com/order",
        "region": "eu",
        "number": 5,
        "flag": True,
    }


@pytest.mark.parametrize(
    ("content_type", "raw", "data"),
    [
        ("application/json", b'{"order": 7}', {"order": 7}),
        ("application/vnd.shop+json; charset=utf-8", b"[1]", [1]),
        ("text/plain", "Glöckner".encode(), "Glöckner"),
        ("text/plain; charset=iso-8859-1", "Glöckner".encode("latin-1"), "Glöckner"),
        ("application/xml", b"<a/>", "<a/>"),
        ("application/octet-stream", b"\x00\xff", b64encode(b"\x00\xff").decode()),
        ("text/plain", b"\xff", b64encode(b"\xff").decode()),
        ("application/json", b"", None),
    ],
)
async def test_a_binary_cloudevent_has_its_data_by_its_content_type(
    api: Api, content_type: str, raw: bytes, data: object
) -> None:
    headers = {**in_headers(region="eu"), "Content-Type": content_type}
    answer = await api.ask("POST", "/events", data=raw, headers=headers)
    event = (await api.ask("GET", f"/events/{answer.body['event_id']}")).body

    encoded = {**a_cloudevent(region="eu", datacontenttype=content_type)}
    if raw:
        encoded["data_base64"] = b64encode(raw).decode()
    again = await api.ask("POST", "/events", data=json.dumps(encoded), headers=STRUCTURED)

    assert (answer.status, event["name"], event["data"]) == (202, "order.created", data)
    assert event["attributes"] == {"region": "eu", "datacontenttype": content_type}
    assert again.body["duplicate"] is True


@pytest.mark.parametrize(
    ("written", "subject"),
    [
        ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),
        ("%e2%82%ac", "€"),
        ('"a b"', "a b"),
        (r'"a \"b\" %25"', 'a "b" %'),
        ("100%2525", "100%25"),
    ],
)
async def test_headers_are_unquoted_and_percent_decoded_once(api: Api, written: str, subject: str) -> None:
    answer = await api.ask("POST", "/events", headers={**in_headers(), "CE-Subject": written})

    assert (await api.ask("GET", f"/events/{answer.body['event_id']}")).body["subject"] == subject


async def test_a_batch_of_cloudevents_is_answered_in_its_order(api: Api) -> None:
    batch = [a_cloudevent(id="1"), a_cloudevent(id="2"), a_cloudevent(id="1")]

    answer = await api.ask("POST", "/events", data=json.dumps(batch), headers=BATCHED)

    items = answer.body["items"]
    assert (answer.status, [each["duplicate"] for each in items]) == (202, [False, False, True])
    assert items[0]["event_id"] == items[2]["event_id"] != items[1]["event_id"]
    empty = await api.ask("POST", "/events", data="[]", headers=BATCHED)
    assert (empty.status, empty.body) == (202, {"items": []})


async def test_the_same_source_and_id_happen_once_in_any_mode(api: Api) -> None:
    first = await api.ask("POST", "/events", data=json.dumps(a_cloudevent()), headers=STRUCTURED)
    again = await api.ask("POST", "/events", headers=in_headers())
    other = await api.ask("POST", "/events", headers=in_headers(source="https://other.example.com"))

    assert again.body == {**first.body, "duplicate": True}
    assert other.body["duplicate"] is False


async def test_source_and_id_are_never_taken_for_others_or_too_long(api: Api) -> None:
    pairs = [("a#b", "c"), ("a", "b#c"), ("s" * 300, "1"), ("s" * 300, "2")]

    answers = [await api.ask("POST", "/events", headers=in_headers(source=s, id=i)) for s, i in pairs]

    assert len({answer.body["event_id"] for answer in answers}) == 4


@pytest.mark.parametrize(
    ("attributes", "fields"),
    [
        ({"type": ...}, ["type"]),
        ({"source": ..., "id": None}, ["id", "source"]),
        ({"specversion": ...}, ["specversion"]),
        ({"specversion": "0.3"}, ["specversion"]),
        ({"id": ""}, ["id"]),
        ({"id": 5}, ["id"]),
        ({"type": "not a name"}, ["type"]),
        ({"type": "tocsin.job.created"}, ["type"]),
        ({"time": "yesterday"}, ["time"]),
        ({"time": "2026-01-01T00:00:00"}, ["time"]),
        ({"subject": ["a"]}, ["subject"]),
        ({"Region": "eu"}, ["Region"]),
        ({"region": {"a": 1}}, ["region"]),
        ({"number": 1.5}, ["number"]),
        ({"number": 2**31}, ["number"]),
        ({"region": "x" * 2049}, ["region"]),
        ({"data": 1, "data_base64": "YQ=="}, ["data_base64"]),
        ({"data_base64": "*"}, ["data_base64"]),
        ({"data_base64": b64encode(b"{no").decode()}, ["data"]),
    ],
)
async def test_a_cloudevent_that_is_none_names_its_attributes(
    api: Api, attributes: dict[str, object], fields: list[str]
) -> None:
    event = a_cloudevent(**attributes)

    single = await api.ask("POST", "/events", data=json.dumps(event), headers=STRUCTURED)
    batch = await api.ask("POST", "/events", data=json.dumps([a_cloudevent(), event]), headers=BATCHED)

    assert (single.status, single.body["code"], single.fields) == (422, "INVALID_EVENT", fields)
    assert (batch.status, batch.fields) == (422, [f"1.{field}" for field in fields])
    assert (await api.ask("GET", "/events")).body["total"] == 0


@pytest.mark.parametrize("missing", ["type", "source", "id", "specversion"])
async def test_a_binary_cloudevent_needs_its_headers(api: Api, missing: str) -> None:
    answer = await api.ask("POST", "/events", headers=in_headers(**{missing: ...}))

    assert (answer.status, answer.fields) == (422, [missing])


@pytest.mark.parametrize("written", ["%ff", "%e2%82"])
async def test_a_header_that_is_not_utf_8_is_named(api: Api, written: str) -> None:
    answer = await api.ask("POST", "/events", headers={**in_headers(), "ce-subject": written})

    assert (answer.status, answer.fields) == (422, ["subject"])


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["name"]),
        ({"name": "a..b"}, ["name"]),
        ({"name": "a", "typo": 1}, ["typo"]),
        ({"name": "a", "time": "2026-01-01"}, ["time"]),
        ({"name": "a", "attributes": {"A": 1}}, ["attributes"]),
        ({"name": "a", "idempotency_key": ""}, ["idempotency_key"]),
        ([{"name": "a"}, {"name": "a..b"}], ["1.name"]),
        ([{"name": "a"}, 5], ["1.body"]),
        ([{"name": "a"}] * 1001, ["body"]),
        (5, ["body"]),
    ],
)
async def test_a_plain_event_that_is_none_names_its_fields(api: Api, body: object, fields: list[str]) -> None:
    answer = await api.ask("POST", "/events", body)

    assert (answer.status, answer.body["code"], answer.fields) == (422, "INVALID_EVENT", fields)


async def test_no_event_at_all_is_refused(api: Api) -> None:
    for headers, fields in (({}, ["name"]), (STRUCTURED, ["specversion", "id", "source", "type"])):
        answer = await api.ask("POST", "/events", headers=headers)
        assert (answer.status, answer.fields) == (422, fields)


async def test_a_batch_must_be_a_list_and_is_bounded(api: Api) -> None:
    many = [a_cloudevent(id=str(number)) for number in range(1001)]

    for body in (a_cloudevent(), many):
        answer = await api.ask("POST", "/events", data=json.dumps(body), headers=BATCHED)
        assert (answer.status, answer.fields) == (422, ["body"])


@pytest.mark.parametrize(("size", "status"), [(EVENT_LIMIT - 2, 202), (EVENT_LIMIT, 413), (EVENT_LIMIT + 1, 413)])
async def test_data_of_a_mebibyte_is_too_large(api: Api, size: int, status: int) -> None:
    headers = {**in_headers(), "Content-Type": "text/plain"}

    answer = await api.ask("POST", "/events", data=BytesIO(b"x" * size), headers=headers)

    assert answer.status == status
    assert answer.body.get("code") in {None, "TOO_LARGE"}


@pytest.mark.parametrize(
    "media", ["text/plain", "application/xml", "application/cloudevents+xml", "application/json; charset=utf-16"]
)
async def test_another_content_type_is_refused_unless_headers_say_what_it_is(api: Api, media: str) -> None:
    answer = await api.ask("POST", "/events", data=b"{}", headers={"Content-Type": media})

    assert (answer.status, answer.body["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("written", ["k", '"k"'])
async def test_the_idempotency_key_may_be_a_header(api: Api, written: str) -> None:
    event = await published(
        api, {"name": "a"}, headers={"Idempotency-Key": written, "Content-Type": "application/json"}
    )

    assert event["idempotency_key"] == "k"


async def test_two_idempotency_keys_are_one_too_many(api: Api) -> None:
    header = {"Idempotency-Key": "k"}

    differing = await api.ask("POST", "/events", {"name": "a", "idempotency_key": "other"}, headers=header)
    of_a_batch = await api.ask("POST", "/events", [{"name": "a"}], headers=header)
    same = await api.ask("POST", "/events", {"name": "a", "idempotency_key": "k"}, headers=header)

    assert (differing.status, differing.fields) == (422, ["idempotency_key"])
    assert (of_a_batch.status, same.status) == (422, 202)


async def test_an_event_goes_on_with_the_trace_of_its_request(api: Api) -> None:
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01", "Content-Type": "application/json"}

    event = await published(api, {"name": "a"}, headers=headers)

    assert event["trace_id"] == TRACE
    assert event["parent_span_id"] is not None


async def test_events_are_listed_page_by_page(api: Api) -> None:
    for number in range(3):
        await api.ask("POST", "/events", {"name": f"order.n{number}", "source": "a"})

    first = (await api.ask("GET", "/events?limit=2&name_prefix=order.&source=a")).body
    rest = (await api.ask("GET", f"/events?limit=2&name_prefix=order.&source=a&cursor={first['next_cursor']}")).body

    names = [each["name"] for each in (*first["items"], *rest["items"])]
    assert (names, first["has_next"], rest["has_next"]) == (["order.n2", "order.n1", "order.n0"], True, False)


@pytest.mark.parametrize(
    ("query", "field"), [("limit=251", "limit"), ("matched=perhaps", "matched"), ("received_after=x", "received_after")]
)
async def test_a_bad_query_names_its_field(api: Api, query: str, field: str) -> None:
    answer = await api.ask("GET", f"/events?{query}")

    assert (answer.status, answer.fields) == (422, [field])


@pytest.mark.parametrize("event_id", [NOBODY, "x"])
async def test_an_event_that_is_not_there_is_a_404(api: Api, event_id: str) -> None:
    answer = await api.ask("GET", f"/events/{event_id}")

    assert (answer.status, answer.body["code"], answer.body["event_id"]) == (404, "EVENT_NOT_FOUND", event_id)


async def test_outcomes_of_sync_handlers_are_answered_with_200(api: Api, node: StillNode) -> None:
    rule = await a_running_rule(api)
    first = await api.ask("POST", "/events", {"name": "order.created", "idempotency_key": "k"})
    await node.finish(first.body["executions"][0])
    await api.ask("PATCH", f"/event-handlers/{rule['id']}", {"mode": "sync"})

    again = await api.ask("POST", "/events", {"name": "order.created", "idempotency_key": "k"})

    assert (again.status, again.body["duplicate"]) == (200, True)
    assert [each["status"] for each in again.body["outcomes"]] == ["success"]
