"""What pages ask for at a glance, over HTTP: what each route answers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.http.nodes import NOBODY, Api, StillNode


async def test_outcomes_are_shown_for_each_job(api: Api, node: StillNode) -> None:
    job = await api.job()
    run = (await api.ask("POST", f"/jobs/{job['id']}/trigger", {})).body
    await node.finish(run["id"])

    answer = await api.ask("GET", f"/jobs/outcomes?job_id={NOBODY}&job_id={job['id']}&limit=5")

    assert answer.status == 200
    [shown] = answer.body["items"]
    [outcome] = shown["outcomes"]
    assert shown["job_id"] == job["id"]
    assert (outcome["execution_id"], outcome["status"]) == (run["id"], "success")
    assert (outcome["scheduled_at"], outcome["lateness_ms"]) == ("2026-01-01T00:00:00Z", None)


async def test_a_series_has_its_buckets_in_milliseconds(api: Api) -> None:
    answer = await api.ask("GET", "/scheduler/series?period=1h")

    assert (answer.body["period"], answer.body["bucket_ms"], answer.body["share"]) == ("1h", 60_000, 1)
    assert (len(answer.body["items"]), answer.body["items"][-1]["at"]) == (60, "2026-01-01T00:00:00Z")
    assert (await api.ask("GET", "/scheduler/series")).body["period"] == "24h"


async def test_fires_to_come_are_listed_within_milliseconds(api: Api) -> None:
    job = await api.job(type="interval", schedule="every 1s", name="tick")

    answer = await api.ask("GET", "/jobs/upcoming?within_ms=3000&limit=2")

    fires = [{"job_id": job["id"], "name": "tick", "scheduled_at": f"2026-01-01T00:00:0{n}Z"} for n in (1, 2)]
    assert answer.body == {"items": fires, "truncated": True}


async def test_a_month_shows_its_days(api: Api, node: StillNode) -> None:
    job = await api.job()
    node.clock.advance(timedelta(hours=1))

    answer = await api.ask("GET", f"/jobs/{job['id']}/calendar?month=2026-01&timezone=Europe/Berlin")

    assert (answer.body["month"], answer.body["timezone"], len(answer.body["days"])) == ("2026-01", "Europe/Berlin", 31)
    assert answer.body["share"] == 1
    assert answer.body["days"][0] == {
        "date": "2026-01-01",
        "outcomes": {},
        "fires": 1,
        "first_fire": "2026-01-01T02:00:00Z",
    }


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/jobs/outcomes", "job_id"),
        (f"/jobs/outcomes?job_id={NOBODY}&limit=101", "limit"),
        ("/jobs/outcomes?job_id=x", "job_id.0"),
        ("/scheduler/series?period=2h", "period"),
        ("/jobs/upcoming?within_ms=0", "within_ms"),
        ("/jobs/upcoming?limit=1001", "limit"),
    ],
)
async def test_what_is_asked_for_has_bounds(api: Api, path: str, field: str) -> None:
    answer = await api.ask("GET", path)

    assert (answer.status, answer.fields) == (422, [field])


@pytest.mark.parametrize("name", ["outcomes", "upcoming", "batch", "bulk"])
async def test_the_names_beside_the_ids_of_jobs_are_nobodys_id(api: Api, name: str) -> None:
    answer = await api.ask("DELETE", f"/jobs/{name}")

    assert (answer.status, answer.body["code"]) == (404, "JOB_NOT_FOUND")
