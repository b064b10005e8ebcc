"""Jobs over HTTP: what each route answers."""

from __future__ import annotations

import re

import pytest

from tests.http.nodes import BASE, NOBODY, Api, StillNode, a_body
from tests.makers import a_worker


async def test_a_new_job_is_answered_with_its_place_and_version(api: Api) -> None:
    answer = await api.ask("POST", "/jobs", a_body(tags=["night"], priority="high", metadata={"team": "data"}))

    assert answer.status == 201
    assert answer.headers["Location"] == f"{BASE}/jobs/{answer.body['id']}"
    assert answer.headers["ETag"] == '"1"'
    assert answer.body["priority"] == 75
    assert answer.body["next_run"] == "2026-01-01T02:00:00Z"
    assert (await api.ask("GET", f"/jobs/{answer.body['id']}")).body == answer.body


async def test_a_job_shows_its_counters_flat_and_lists_that_are_never_null(api: Api) -> None:
    job = await api.job()

    counters = ("executions_count", "success_count", "failure_count", "consecutive_failures", "avg_duration_ms")
    assert [job[name] for name in counters] == [0, 0, 0, 0, None]
    assert (job["tags"], job["metadata"], job["payload"], job["key"]) == ([], {}, None, None)


async def test_a_one_time_job_is_given_and_shown_by_its_instant(api: Api) -> None:
    job = await api.job(type="one_time", schedule=..., execute_at="2026-01-02T09:30:00+01:00")

    assert job["execute_at"] == job["schedule"] == job["next_run"] == "2026-01-02T08:30:00Z"


async def test_an_event_job_has_no_schedule(api: Api) -> None:
    job = await api.job(type="event", schedule=...)

    assert (job["schedule"], job["execute_at"], job["next_run"]) == (None, None, None)


async def test_the_handler_of_an_http_job_need_not_be_named(api: Api) -> None:
    payload = {"method": "GET", "url": "http://example.com/"}

    job = await api.job(handler_name=..., handler_type="http", payload=payload)

    assert job["handler_name"] == "http"


async def test_a_job_that_is_not_enabled_starts_paused(api: Api) -> None:
    assert (await api.job(enabled=False))["status"] == "paused"


async def test_an_unknown_handler_is_refused_with_the_known_ones_unless_it_may_come_later(api: Api) -> None:
    refused = await api.ask("POST", "/jobs", a_body(handler_name="later"))

    assert (refused.status, refused.body["code"], refused.fields) == (422, "HANDLER_NOT_FOUND", ["handler_name"])
    assert {"clean", "report"} <= set(refused.body["known_handlers"])
    assert (await api.job(handler_name="later", allow_unknown_handler=True))["status"] == "active"


async def test_a_command_is_taken_while_any_live_node_allows_commands(api: Api, node: StillNode) -> None:
    whoami = a_body(handler_type="command", handler_name=..., payload={"argv": ["whoami"]})
    await node.storage.workers.beat(a_worker(capabilities=("command",)))

    job = await api.ask("POST", "/jobs", whoami)
    triggered = await api.ask("POST", f"/jobs/{job.body['id']}/trigger", {"payload": {"argv": ["id"]}})
    batch = await api.ask("POST", "/jobs/batch", {"jobs": [whoami]})
    wrong = await api.ask("POST", "/jobs", {**whoami, "payload": {"argv": []}})

    assert (job.status, triggered.status, batch.status) == (201, 202, 201)
    assert (wrong.status, wrong.fields) == (422, ["payload.argv"])


async def test_a_command_is_refused_once_the_node_that_allowed_it_is_gone(api: Api, node: StillNode) -> None:
    await node.storage.workers.beat(a_worker(capabilities=("command",), status="stopped"))

    refused = await api.ask("POST", "/jobs", a_body(handler_type="command", payload={"argv": ["whoami"]}))

    assert (refused.status, refused.fields) == (422, ["handler_type"])


@pytest.mark.parametrize(("on_conflict", "name"), [("keep", "nightly"), ("replace", "other")])
async def test_a_key_that_is_taken_is_kept_or_replaced_with_a_200(api: Api, on_conflict: str, name: str) -> None:
    first = await api.job(key="report")

    again = await api.ask("POST", f"/jobs?on_conflict={on_conflict}", a_body(key="report", name="other"))

    assert (again.status, again.body["id"], again.body["name"]) == (200, first["id"], name)


@pytest.mark.parametrize("on_conflict", ["keep", "replace"])
async def test_a_key_that_is_free_makes_a_job_however_conflicts_end(api: Api, on_conflict: str) -> None:
    cancelled = await api.job(key="report")
    await api.ask("POST", f"/jobs/{cancelled['id']}/cancel")

    assert (await api.ask("POST", f"/jobs?on_conflict={on_conflict}", a_body(key="report"))).status == 201


async def test_a_key_that_is_taken_is_otherwise_a_conflict_that_names_the_job(api: Api) -> None:
    first = await api.job(key="report")

    again = await api.ask("POST", "/jobs", a_body(key="report"))

    assert (again.status, again.body["code"], again.body["existing_id"]) == (409, "CONFLICT", first["id"])


async def test_a_patch_changes_what_it_names_and_clears_what_is_null(api: Api) -> None:
    job = await api.job(description="old", tags=["a"], concurrency=3)

    answer = await api.ask("PATCH", f"/jobs/{job['id']}", {"description": None, "name": "renamed"})

    assert answer.status == 200
    assert (answer.body["description"], answer.body["name"], answer.headers["ETag"]) == (None, "renamed", '"2"')
    assert (answer.body["tags"], answer.body["concurrency"]) == (["a"], 3)


async def test_a_patch_to_allow_all_gives_up_the_concurrency(api: Api) -> None:
    job = await api.job(concurrency=3)

    answer = await api.ask("PATCH", f"/jobs/{job['id']}", {"overlap_policy": "allow_all"})

    assert (answer.status, answer.body["concurrency"]) == (200, 1)


async def test_a_patch_moves_a_one_time_job(api: Api) -> None:
    job = await api.job(type="one_time", schedule=..., execute_at="2026-01-02T00:00:00Z")

    moved = await api.ask("PATCH", f"/jobs/{job['id']}", {"execute_at": "2026-01-03T00:00:00Z"})

    assert moved.body["next_run"] == moved.body["execute_at"] == "2026-01-03T00:00:00Z"


async def test_a_job_gets_another_schedule_and_zone(api: Api) -> None:
    job = await api.job()

    answer = await api.ask("PUT", f"/jobs/{job['id']}/schedule", {"schedule": "every 1h", "timezone": "Europe/Berlin"})

    assert (answer.status, answer.body["type"], answer.body["timezone"]) == (200, "interval", "Europe/Berlin")
    assert answer.body["next_run"] == "2026-01-01T01:00:00Z"


async def test_a_job_is_paused_resumed_cancelled_and_each_version_counts(api: Api) -> None:
    job = await api.job()

    steps = [await api.ask("POST", f"/jobs/{job['id']}/{step}") for step in ("pause", "resume", "cancel")]

    assert [step.body["status"] for step in steps] == ["paused", "active", "cancelled"]
    assert [step.headers["ETag"] for step in steps] == ['"2"', '"3"', '"4"']
    again = await api.ask("POST", f"/jobs/{job['id']}/resume")
    assert (again.status, again.body["code"], again.body["current"]) == (409, "INVALID_TRANSITION", "cancelled")


async def test_a_deleted_job_is_gone(api: Api) -> None:
    job = await api.job()

    assert (await api.ask("DELETE", f"/jobs/{job['id']}")).status == 204

    gone = await api.ask("GET", f"/jobs/{job['id']}")
    assert (gone.status, gone.body["code"], gone.body["job_id"]) == (404, "JOB_NOT_FOUND", job["id"])


@pytest.mark.parametrize("tag", ['"1"', "*", ""])
async def test_a_change_goes_through_at_the_version_that_it_expects(api: Api, tag: str) -> None:
    job = await api.job()

    assert (await api.ask("POST", f"/jobs/{job['id']}/pause", headers={"If-Match": tag})).status == 200


@pytest.mark.parametrize("tag", ['"2"', 'W/"1"', '"x"', '"-1"', '"01"', f'"{10**30}"'])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "", {"name": "x"}),
        ("DELETE", "", None),
        ("PUT", "/schedule", {"schedule": "every 1h"}),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("POST", "/cancel", None),
    ],
)
async def test_a_change_at_another_version_is_refused(api: Api, tag: str, method: str, path: str, body: object) -> None:
    job = await api.job()

    answer = await api.ask(method, f"/jobs/{job['id']}{path}", body, headers={"If-Match": tag})

    assert (answer.status, answer.body["code"]) == (412, "VERSION_CONFLICT")
    assert (await api.ask("GET", f"/jobs/{job['id']}")).body == job


@pytest.mark.parametrize("tag", ["1", '"1', '"1", "2"', "**"])
async def test_an_if_match_that_is_no_entity_tag_is_malformed(api: Api, tag: str) -> None:
    job = await api.job()

    answer = await api.ask("POST", f"/jobs/{job['id']}/pause", headers={"If-Match": tag})

    assert (answer.status, answer.body["code"]) == (400, "MALFORMED")


async def test_a_run_by_hand_is_accepted_and_found_where_it_says(api: Api) -> None:
    job = await api.job(payload={"a": 1})

    answer = await api.ask("POST", f"/jobs/{job['id']}/trigger", {"payload": [1, "x"], "idempotency_key": "once"})

    assert (answer.status, answer.body["origin"], answer.body["payload"]) == (202, "manual", [1, "x"])
    assert answer.headers["Location"] == f"{BASE}/executions/{answer.body['id']}"
    again = await api.ask("POST", f"/jobs/{job['id']}/trigger", {"idempotency_key": "once"})
    assert again.body["id"] == answer.body["id"]


async def test_a_run_by_hand_needs_no_body(api: Api) -> None:
    job = await api.job()

    assert (await api.ask("POST", f"/jobs/{job['id']}/trigger")).status == 202


async def test_a_failed_job_is_retried(api: Api, node: StillNode) -> None:
    job = await api.job(max_retries=0)
    execution = (await api.ask("POST", f"/jobs/{job['id']}/trigger")).body
    assert (await api.ask("POST", f"/jobs/{job['id']}/retry")).status == 409
    await node.finish(execution["id"], succeeds=False)

    answer = await api.ask("POST", f"/jobs/{job['id']}/retry")

    assert (answer.status, answer.body["retry_of"], answer.body["origin"]) == (201, execution["id"], "retry")
    assert answer.headers["Location"] == f"{BASE}/executions/{answer.body['id']}"


async def test_a_job_that_never_ran_has_nothing_to_retry(api: Api) -> None:
    job = await api.job()

    answer = await api.ask("POST", f"/jobs/{job['id']}/retry")

    assert (answer.status, answer.body["code"]) == (404, "EXECUTION_NOT_FOUND")


async def test_the_stats_of_a_job_add_up_what_ran(api: Api, node: StillNode) -> None:
    job = await api.job(max_retries=0)
    for succeeds in (True, False):
        execution = (await api.ask("POST", f"/jobs/{job['id']}/trigger")).body
        await node.finish(execution["id"], succeeds=succeeds)

    stats = (await api.ask("GET", f"/jobs/{job['id']}/stats")).body

    assert (stats["total_executions"], stats["success_rate"], stats["p95_duration_ms"]) == (2, 0.5, 1000)
    assert [(pattern["error_type"], pattern["count"]) for pattern in stats["failure_patterns"]] == [("ValueError", 1)]
    shown = (await api.ask("GET", f"/jobs/{job['id']}")).body
    assert (shown["executions_count"], shown["avg_duration_ms"]) == (2, 1000)


async def test_a_job_previews_its_fires(api: Api) -> None:
    job = await api.job(timezone="Europe/Berlin")

    preview = (await api.ask("GET", f"/jobs/{job['id']}/preview?count=2&after=2026-03-28T00:00:00Z")).body

    assert [fire["scheduled_at"] for fire in preview["fires"]] == ["2026-03-28T01:00:00Z", "2026-03-29T01:00:00Z"]
    assert preview["fires"][1]["local"] == "2026-03-29T03:00:00+02:00"
    assert preview["fires"][1]["note"]


async def test_lists_answer_one_envelope_and_go_on_where_they_ended(api: Api) -> None:
    made = [(await api.job(name=f"job {number}"))["id"] for number in range(5)]

    seen, cursor = [], ""
    while True:
        page = (await api.ask("GET", f"/jobs?limit=2&sort_order=asc{cursor}")).body
        assert (page["total"], page["limit"]) == (5, 2)
        seen += [job["id"] for job in page["items"]]
        assert page["has_next"] is (page["next_cursor"] is not None)
        if not page["has_next"]:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert seen == made


async def test_an_offset_pages_too(api: Api) -> None:
    for number in range(3):
        await api.job(name=f"job {number}")

    pages = [(await api.ask("GET", f"/jobs?limit=2&offset={offset}")).body for offset in (0, 2, 4)]

    assert [len(page["items"]) for page in pages] == [2, 1, 0]
    assert [page["has_next"] for page in pages] == [True, False, False]
    assert [page["offset"] for page in pages] == [0, 2, 4]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("tags=a&tags=b", {"a", "b", "ab"}),
        ("tags_all=a&tags_all=b", {"ab"}),
        ("tags=a&tags_all=b", {"ab"}),
        ("status=paused", {"b"}),
        ("status=paused&status=active", {"a", "b", "ab"}),
        ("type=interval", {"ab"}),
        ("type=interval&type=cron", {"a", "b", "ab"}),
        ("name_contains=b", {"b", "ab"}),
        ("handler_name=clean", {"b"}),
        ("key=kb&key=kx", {"b"}),
        ("created_after=2026-01-01T00:00:00Z", {"a", "b", "ab"}),
        ("created_before=2025-12-31T00:00:00Z", set()),
        ("next_run_before=2026-01-01T01:00:00%2B00:00", {"ab"}),
        ("next_run_after=2026-01-01T02:00:00+00:00", {"a"}),
        ("created_by=somebody", set()),
    ],
)
async def test_jobs_are_narrowed_down(api: Api, query: str, names: set[str]) -> None:
    await api.job(name="a", tags=["a"])
    await api.job(name="b", tags=["b"], handler_name="clean", key="kb", enabled=False)
    await api.job(name="ab", tags=["a", "b"], type="interval", schedule="every 1h")

    page = (await api.ask("GET", f"/jobs?{query}")).body

    assert {job["name"] for job in page["items"]} == names
    assert page["total"] == len(names)


async def test_the_executions_of_a_job_are_its_own(api: Api) -> None:
    one, other = await api.job(), await api.job(name="other")
    for job in (one, other):
        await api.ask("POST", f"/jobs/{job['id']}/trigger")

    page = (await api.ask("GET", f"/jobs/{one['id']}/executions?status=pending&origin=manual&limit=1")).body

    assert [execution["job_id"] for execution in page["items"]] == [one["id"]]
    assert (page["total"], page["has_next"]) == (1, False)


@pytest.mark.parametrize("job_id", [NOBODY, "1", "x" * 1000, NOBODY.replace("-", ""), "%00"])
@pytest.mark.parametrize(
    "route",
    [
        "GET ",
        "PATCH ",
        "DELETE ",
        "PUT /schedule",
        "POST /pause",
        "POST /resume",
        "POST /cancel",
        "POST /trigger",
        "POST /retry",
        "GET /executions",
        "GET /stats",
        "GET /preview",
    ],
)
async def test_a_job_that_does_not_exist_is_a_404_everywhere(api: Api, job_id: str, route: str) -> None:
    method, _, path = route.partition(" ")
    body = {"schedule": "every 1h"} if method == "PUT" else None

    answer = await api.ask(method, f"/jobs/{job_id}{path}", body)

    assert (answer.status, answer.body["code"]) == (404, "JOB_NOT_FOUND")


async def test_another_tenants_job_does_not_exist(api: Api, node: StillNode) -> None:
    foreign = await node.scheduler.for_tenant("acme").schedule_recurring(
        "theirs", schedule="every 1h", handler_name="report"
    )

    assert (await api.ask("GET", f"/jobs/{foreign.id}")).status == 404
    assert (await api.ask("GET", "/jobs")).body["items"] == []


async def test_instants_are_iso_8601_in_utc(api: Api) -> None:
    job = await api.job(start_date="2026-05-01T00:00:00.123456+02:00")

    assert job["start_date"] == "2026-04-30T22:00:00.123456Z"
    instants = [job[name] for name in ("created_at", "updated_at", "next_run")]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", instant) for instant in instants)
