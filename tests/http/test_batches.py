"""Many jobs at once over HTTP: what each route answers."""

from __future__ import annotations

from dataclasses import fields

import pytest

from tests.http.nodes import NOBODY, Api, a_body
from tocsin.adapters.http.wire.batches import JobConditions
from tocsin.adapters.http.wire.queries import JobQuery
from tocsin.ports.queries import JobFilter

PAGING = ("limit", "offset", "cursor", "sort_by", "sort_order")
SEVERAL = [field.name for field in fields(JobFilter) if field.default == ()]


async def test_new_jobs_are_answered_in_their_order(api: Api) -> None:
    answer = await api.ask("POST", "/jobs/batch", {"jobs": [a_body(name="a"), a_body(name="b", enabled=False)]})

    assert (answer.status, answer.headers["Location"]) == (201, "/api/v1/jobs")
    assert [(job["name"], job["status"]) for job in answer.body["items"]] == [("a", "active"), ("b", "paused")]
    assert (await api.ask("GET", f"/jobs/{answer.body['items'][1]['id']}")).body == answer.body["items"][1]


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"schedule": "nonsense"}, "schedule"),
        ({"priority": 101}, "priority"),
        ({"tags": [""]}, "tags.0"),
        ({"color": "red"}, "color"),
        ({"type": "one_time", "schedule": ...}, "execute_at"),
        ({"handler_name": "later"}, "handler_name"),
    ],
)
async def test_a_field_at_fault_is_named_with_the_place_of_its_job(
    api: Api, fields: dict[str, object], at: str
) -> None:
    answer = await api.ask("POST", "/jobs/batch", {"jobs": [a_body(), a_body(**fields)]})

    assert (answer.status, answer.fields) == (422, [f"jobs[1].{at}"])
    assert (await api.ask("GET", "/jobs")).body["total"] == 0


@pytest.mark.parametrize("body", [{}, {"jobs": []}, {"jobs": {}}, {"jobs": [a_body()] * 1001}])
async def test_a_batch_has_bounds(api: Api, body: object) -> None:
    answer = await api.ask("POST", "/jobs/batch", body)

    assert (answer.status, answer.fields) == (422, ["jobs"])


async def test_what_is_no_job_is_named_by_its_place(api: Api) -> None:
    answer = await api.ask("POST", "/jobs/batch", {"jobs": [a_body(), 7]})

    assert (answer.status, answer.fields) == (422, ["jobs[1]"])


async def test_keys_that_are_taken_are_a_conflict_unless_told_otherwise(api: Api) -> None:
    first = await api.job(key="report")
    body = {"jobs": [a_body(key="report", name="other")]}

    refused = await api.ask("POST", "/jobs/batch", body)
    replaced = await api.ask("POST", "/jobs/batch?on_conflict=replace", body)

    assert (refused.status, refused.body["code"]) == (409, "CONFLICT")
    assert [(job["id"], job["name"]) for job in replaced.body["items"]] == [(first["id"], "other")]


async def test_a_thousand_jobs_fit_into_one_request(api: Api) -> None:
    answer = await api.ask("POST", "/jobs/batch", {"jobs": [a_body(name=f"job {n}") for n in range(1000)]})

    assert (answer.status, len(answer.body["items"])) == (201, 1000)


async def test_what_would_be_done_is_told_before_it_is(api: Api) -> None:
    tagged, other = await api.job(name="a", tags=["night"]), await api.job(name="b")
    asked = {"action": "pause", "filter": {"tags": ["night"], "created_before": "2026-01-01T01:00:00+01:00"}}

    tried = await api.ask("POST", "/jobs/bulk", {**asked, "dry_run": True})

    expected = [{"id": tagged["id"], "name": "a", "status": "paused"}]
    assert (tried.status, tried.body["matched"], tried.body["changed"], tried.body["dry_run"]) == (200, 1, 1, True)
    assert (tried.body["jobs"], tried.body["refused"]) == (expected, [])
    assert (await api.ask("GET", f"/jobs/{tagged['id']}")).body["status"] == "active"
    assert (await api.ask("POST", "/jobs/bulk", asked)).body == {**tried.body, "dry_run": False}
    assert (await api.ask("GET", f"/jobs/{other['id']}")).body["status"] == "active"


def test_many_jobs_are_meant_by_the_conditions_that_a_list_has() -> None:
    conditions = [field.name for field in fields(JobFilter) if field.name not in PAGING]

    assert list(JobConditions.model_fields) == conditions
    assert set(JobQuery.model_fields) == {*conditions, *PAGING}


async def test_the_functions_that_there_are_are_told_once_however_many_are_unknown(api: Api) -> None:
    jobs = [a_body(handler_name=f"later-{n}") for n in range(3)]

    answer = await api.ask("POST", "/jobs/batch", {"jobs": jobs})

    assert answer.fields == [f"jobs[{n}].handler_name" for n in range(3)]
    assert ["clean" in error["message"] for error in answer.body["errors"]] == [True, False, False]
    assert ["later-" in error["message"] for error in answer.body["errors"]] == [True] * 3


async def test_a_job_that_is_refused_is_told_with_the_code_of_its_error(api: Api) -> None:
    answer = await api.ask("POST", "/jobs/bulk", {"action": "trigger", "job_ids": [NOBODY]})

    refused = {"job_id": NOBODY, "name": None, "code": "JOB_NOT_FOUND", "message": f"no job {NOBODY}"}
    assert (answer.status, answer.body["matched"], answer.body["refused"]) == (200, 1, [refused])


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"job_ids": [NOBODY]}, ["action"]),
        ({"action": "delete", "job_ids": [NOBODY]}, ["action"]),
        ({"action": "pause"}, ["job_ids"]),
        ({"action": "pause", "job_ids": [], "dry_run": True}, ["job_ids"]),
        ({"action": "pause", "job_ids": [NOBODY], "filter": {}}, ["job_ids"]),
        ({"action": "pause", "filter": {"limit": 5}}, ["filter.limit"]),
        ({"action": "pause", "job_ids": ["x"]}, ["job_ids.0"]),
        ({"action": "pause", "filter": {}, "dry_run": "yes"}, ["dry_run"]),
        *(({"action": "cancel", "filter": {name: []}}, [f"filter.{name}"]) for name in SEVERAL),
        ({"action": "cancel", "filter": {"tags": ["a"], "key": []}}, ["filter.key"]),
        ({"action": "cancel", "filter": {"name_contains": ""}}, ["filter.name_contains"]),
    ],
)
async def test_jobs_are_meant_in_one_way(api: Api, body: object, at: list[str]) -> None:
    answer = await api.ask("POST", "/jobs/bulk", body)

    assert (answer.status, answer.fields) == (422, at)
