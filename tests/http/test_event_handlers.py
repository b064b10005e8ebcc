"""Event handlers over HTTP: what each route answers, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.nodes import BASE, NOBODY, Api

PUBLISH = {"type": "publish", "name": "a.b"}


async def a_rule(api: Api, **fields: object) -> Any:  # noqa: ANN401 - JSON
    answer = await api.ask("POST", "/event-handlers", {"event": "order.*", "action": PUBLISH, **fields})
    assert answer.status == 201, answer.text
    return answer.body


async def test_a_new_handler_is_answered_flat_with_its_place_and_version(api: Api) -> None:
    answer = await api.ask("POST", "/event-handlers", {"event": "order.*", "action": PUBLISH, "priority": "high"})

    assert (answer.status, answer.headers["ETag"]) == (201, '"1"')
    assert answer.headers["Location"] == f"{BASE}/event-handlers/{answer.body['id']}"
    assert answer.body["action"] == {"type": "publish", "name": "a.b", "data": None, "subject": None}
    assert (answer.body["priority"], answer.body["mode"], answer.body["every_tenant"]) == (75, "async", False)
    counters = ("triggered", "matched", "succeeded", "failed", "last_triggered")
    assert [answer.body[name] for name in counters] == [0, 0, 0, 0, None]
    assert (await api.ask("GET", f"/event-handlers/{answer.body['id']}")).body == answer.body


@pytest.mark.parametrize(
    ("delay", "seconds"), [(90, 90), ("1h", 3600), ("30m", 1800), ("PT1H", 3600), ("1h30m", 5400), ("2 days", 172_800)]
)
async def test_a_delay_is_seconds_or_a_length_of_time(api: Api, delay: object, seconds: int) -> None:
    action = {"type": "create_job", "job": {"name": "n", "handler_name": "report"}}

    rule = await a_rule(api, action={**action, "delay": delay})
    other = await a_rule(api, action={**action, "delay_seconds": seconds})

    assert rule["action"] == other["action"]
    assert rule["action"]["delay_seconds"] == seconds


BAD_HANDLERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"event": ...}, ["event"]),
    ({"event": "a..b"}, ["event"]),
    ({"event": "a*"}, ["event"]),
    ({"action": ...}, ["action"]),
    ({"action": {}}, ["action.type"]),
    ({"action": {"type": "explode"}}, ["action.type"]),
    ({"action": {"type": "run_job"}}, ["action.job_id"]),
    ({"action": {"type": "run_job", "job_id": "x"}}, ["action.job_id"]),
    ({"action": {**PUBLISH, "typo": 1}}, ["action.typo"]),
    ({"action": {"type": "publish", "name": "tocsin.job.created"}}, ["action.name"]),
    ({"action": {"type": "cancel_jobs"}}, ["action"]),
    ({"action": {"type": "create_job", "job": {}}}, ["action.job.name", "action.job.handler_name"]),
    ({"action": {"type": "create_job", "job": {}, "delay": "soon"}}, ["action.delay"]),
    ({"action": {"type": "create_job", "job": {}, "delay": -1}}, ["action.delay"]),
    ({"action": {"type": "create_job", "job": {}, "delay": 1, "delay_seconds": 1}}, ["action.delay_seconds"]),
    ({"action": {"type": "call", "handler_name": "report", "options": {"schedule": "x"}}}, ["action.options.schedule"]),
    ({"filter": "event.data.("}, ["filter"]),
    ({"filter": "x" * 1025}, ["filter"]),
    ({"priority": 101}, ["priority"]),
    ({"mode": "later"}, ["mode"]),
    ({"enabled": 1}, ["enabled"]),
    ({"every_tenant": True}, ["every_tenant"]),
    ({"flow": {"batch": {"size": 1, "seconds": 1}}}, ["flow.batch.size"]),
    ({"flow": {"rate_limit": {"limit": 0, "seconds": 1}}}, ["flow.rate_limit.limit"]),
    ({"flow": {"throttle": {"limit": 1}}}, ["flow.throttle.seconds"]),
    ({"flow": {"key": "(("}}, ["flow.key"]),
    ({"flow": {"typo": 1}}, ["flow.typo"]),
]


@pytest.mark.parametrize(("fields", "named"), BAD_HANDLERS)
async def test_a_bad_field_is_named(api: Api, fields: dict[str, Any], named: list[str]) -> None:
    body = {"event": "order.*", "action": PUBLISH, **fields}

    answer = await api.ask("POST", "/event-handlers", {name: value for name, value in body.items() if value is not ...})

    assert (answer.status, answer.body["code"], answer.fields) == (422, "INVALID_EVENT_HANDLER", named), answer.text
    assert (await api.ask("GET", "/event-handlers")).body["total"] == 0


async def test_a_job_that_is_not_there_cannot_be_run(api: Api) -> None:
    action = {"type": "run_job", "job_id": NOBODY}

    answer = await api.ask("POST", "/event-handlers", {"event": "a", "action": action})

    assert (answer.status, answer.body["code"]) == (404, "JOB_NOT_FOUND")


async def test_a_taken_key_is_a_conflict_or_replaced_or_kept(api: Api) -> None:
    rule = await a_rule(api, key="k")
    body = {"event": "other", "action": PUBLISH, "key": "k"}

    refused = await api.ask("POST", "/event-handlers", body)
    kept = await api.ask("POST", "/event-handlers?on_conflict=keep", body)
    replaced = await api.ask("POST", "/event-handlers?on_conflict=replace", body)

    assert (refused.status, refused.body["code"], refused.body["existing_id"]) == (409, "CONFLICT", rule["id"])
    assert (kept.status, kept.body) == (200, rule)
    assert (replaced.status, replaced.body["event"], replaced.headers["ETag"]) == (200, "other", '"2"')


async def test_a_patch_changes_what_it_names_at_the_version_it_names(api: Api) -> None:
    rule = await a_rule(api, filter="true", flow={"dedupe_seconds": 60})
    path = f"/event-handlers/{rule['id']}"

    changed = await api.ask("PATCH", path, {"filter": None, "flow": {}}, headers={"If-Match": '"1"'})
    late = await api.ask("PATCH", path, {"enabled": False}, headers={"If-Match": '"1"'})

    assert (changed.status, changed.headers["ETag"], changed.body["filter"]) == (200, '"2"', None)
    assert changed.body["flow"]["dedupe_seconds"] is None
    assert changed.body["action"] == rule["action"]
    assert (late.status, late.body["current_version"]) == (412, 2)


async def test_a_handler_is_removed_at_the_version_named(api: Api) -> None:
    path = f"/event-handlers/{(await a_rule(api))['id']}"

    late = await api.ask("DELETE", path, headers={"If-Match": '"2"'})
    removed = await api.ask("DELETE", path, headers={"If-Match": '"1"'})
    again = await api.ask("DELETE", path)

    assert (late.status, removed.status, again.status) == (412, 204, 404)
    assert again.body["code"] == "EVENT_HANDLER_NOT_FOUND"


async def test_handlers_are_listed_as_they_act(api: Api) -> None:
    low = await a_rule(api, priority=10)
    high = await a_rule(api, priority=90, enabled=False)

    listed = (await api.ask("GET", "/event-handlers")).body
    enabled = (await api.ask("GET", "/event-handlers?enabled=true&event=order.*")).body

    assert [each["id"] for each in listed["items"]] == [high["id"], low["id"]]
    assert [each["id"] for each in enabled["items"]] == [low["id"]]


async def test_a_replay_is_a_dry_run_unless_told_otherwise(api: Api) -> None:
    event = (await api.ask("POST", "/events", {"name": "order.created"})).body
    path = f"/event-handlers/{(await a_rule(api))['id']}/replay"
    window = {"since": "2025-12-31T00:00:00Z", "until": "2026-01-02T00:00:00Z"}

    tried = await api.ask("POST", path, window)
    done = await api.ask("POST", path, {**window, "dry_run": False})
    again = await api.ask("POST", path, {**window, "dry_run": False})

    assert (tried.status, tried.body["is_dry_run"], tried.body["acted"]) == (200, True, 1)
    assert (done.body["acted"], done.body["event_ids"]) == (1, [event["event_id"]])
    assert (again.body["acted"], again.body["known"]) == (0, 1)


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "since"), ({"since": "x"}, "since"), ({"since": "2026-01-01T00:00:00Z", "dry_run": 1}, "dry_run")],
)
async def test_a_bad_replay_names_its_field(api: Api, body: dict[str, object], field: str) -> None:
    answer = await api.ask("POST", f"/event-handlers/{(await a_rule(api))['id']}/replay", body)

    assert (answer.status, answer.fields) == (422, [field])


@pytest.mark.parametrize("handler_id", [NOBODY, "x"])
@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/replay")])
async def test_a_handler_that_is_not_there_is_a_404(api: Api, handler_id: str, method: str, rest: str) -> None:
    body = {"POST": {"since": "2026-01-01T00:00:00Z"}, "PATCH": {"enabled": True}}.get(method)

    answer = await api.ask(method, f"/event-handlers/{handler_id}{rest}", body)

    assert (answer.status, answer.body["code"]) == (404, "EVENT_HANDLER_NOT_FOUND")
    assert answer.body["handler_id"] == handler_id


ORDER = {"name": "order.created", "data": {"total": 150}}


@pytest.mark.parametrize(
    ("event", "expression", "answered"),
    [
        ("order.*", "event.data.total > 100", (True, True, True)),
        ("order.*", "event.data.total > 200", (False, True, False)),
        ("order.*", None, (True, True, True)),
        (None, "event.name == 'order.created'", (True, True, True)),
        ("invoice.*", "event.data.total > 100", (False, False, True)),
    ],
)
async def test_a_filter_is_tried_on_an_event_that_nobody_published(
    api: Api, event: str | None, expression: str | None, answered: tuple[bool, bool, bool]
) -> None:
    tried = await api.ask("POST", "/event-handlers/test", {"event": event, "filter": expression, "sample": ORDER})

    assert (tried.status, tried.body["error"]) == (200, None)
    assert (tried.body["matches"], tried.body["name_matches"], tried.body["result"]) == answered
    assert (await api.ask("GET", "/events")).body["items"] == []


@pytest.mark.parametrize(
    ("event", "expression", "told"),
    [
        ("order.*", "event.data.total >", "must be CEL"),
        ("order.*", "order.total > 1", "order is unknown"),
        ("order.*", "event.data.missing > 1", "filter: "),
        ("order.*", "event.data.total", "neither true nor false"),
        ("order..*", "true", "event: must be a pattern"),
        ("order.*", "[1, 2, 3].all(a, [1, 2, 3].all(b, a / 0 == b))", "filter: "),
    ],
)
async def test_what_is_wrong_with_a_filter_is_in_the_answer(api: Api, event: str, expression: str, told: str) -> None:
    tried = await api.ask("POST", "/event-handlers/test", {"event": event, "filter": expression, "sample": ORDER})

    assert (tried.status, tried.body["matches"]) == (200, False)
    assert told in tried.body["error"]


async def test_a_sample_is_of_the_tenant_that_asks(api: Api) -> None:
    trial = {"filter": "event.tenant_id", "sample": {"name": "a"}}

    assert (await api.ask("POST", "/event-handlers/test", trial)).body["result"] == "default"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "sample"),
        ({"sample": {}}, "sample.name"),
        ({"sample": {"name": "a..b"}}, "name"),
        ({"sample": ORDER, "filter": 1}, "filter"),
    ],
)
async def test_a_trial_names_the_field_at_fault(api: Api, body: dict[str, object], field: str) -> None:
    tried = await api.ask("POST", "/event-handlers/test", body)

    assert (tried.status, tried.fields) == (422, [field])
