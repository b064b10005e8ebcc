"""Previews, workers, metrics, health and probes over HTTP."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.http.nodes import Api, StillNode, serving_with
from tests.makers import a_worker
from tocsin.ports.reports import ComponentHealth, Health, HealthStatus


async def test_a_schedule_is_previewed_with_notes(api: Api) -> None:
    asked = {"schedule": "30 2 * * *", "timezone": "Europe/Berlin", "after": "2026-03-28T12:00:00Z", "count": 2}

    preview = (await api.ask("POST", "/schedules/preview", asked)).body

    assert [fire["scheduled_at"] for fire in preview["fires"]] == ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
    assert [fire["local"] for fire in preview["fires"]] == ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]
    assert preview["fires"][0]["note"]
    assert not any(fire["skipped"] for fire in preview["fires"])
    assert "Europe/Berlin" in preview["description"]


async def test_a_preview_starts_now_and_shows_ten(api: Api) -> None:
    preview = (await api.ask("POST", "/schedules/preview", {"schedule": "@hourly"})).body

    assert len(preview["fires"]) == 10
    assert preview["fires"][0]["scheduled_at"] == "2026-01-01T01:00:00Z"


async def test_a_preview_ends_where_the_schedule_does(api: Api) -> None:
    asked = {"schedule": "every 1h", "end_date": "2026-01-01T02:00:00Z"}

    assert len((await api.ask("POST", "/schedules/preview", asked)).body["fires"]) == 2


@pytest.mark.parametrize("count", [1, 1000])
async def test_a_preview_is_as_long_as_asked(api: Api, count: int) -> None:
    answer = await api.ask("POST", "/schedules/preview", {"schedule": "* * * * * *", "count": count})

    assert len(answer.body["fires"]) == count


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"schedule": "nonsense"}, "schedule"),
        ({"schedule": ""}, "schedule"),
        ({"schedule": "61 * * * *"}, "schedule"),
        ({"schedule": "2026-01-02T00:00:00"}, "schedule"),
        ({"schedule": "@hourly", "timezone": "Mars/Olympus"}, "timezone"),
        ({"schedule": "@hourly", "count": 0}, "count"),
        ({"schedule": "@hourly", "count": 1001}, "count"),
        ({"schedule": "@hourly", "count": "10"}, "count"),
        ({"schedule": "@hourly", "after": "yesterday"}, "after"),
        ({"schedule": "@hourly", "max_executions": 0}, "max_executions"),
        ({}, "schedule"),
    ],
)
async def test_a_schedule_that_cannot_be_previewed_is_refused_by_field(
    api: Api, asked: dict[str, object], field: str
) -> None:
    answer = await api.ask("POST", "/schedules/preview", asked)

    assert (answer.status, answer.body["code"], answer.fields) == (422, "INVALID_SCHEDULE", [field])


async def test_workers_come_in_the_envelope_of_every_list(api: Api, node: StillNode) -> None:
    await node.storage.workers.beat(a_worker())

    page = (await api.ask("GET", "/workers")).body

    assert [worker["name"] for worker in page["items"]] == ["node-1"]
    assert page["items"][0]["roles"] == ["timer", "executor", "sweeper"]
    assert {name: page[name] for name in page if name != "items"} == {
        "total": 1,
        "limit": None,
        "offset": None,
        "next_cursor": None,
        "has_next": False,
    }


async def test_a_worker_is_asked_under_its_id_as_a_path_writes_it(api: Api, node: StillNode) -> None:
    await node.storage.workers.beat(a_worker(id="node-1#4f2a"))

    drained = await api.ask("POST", "/workers/node-1%234f2a/drain")
    assert (drained.status, drained.headers["Location"]) == (202, "/api/v1/workers")
    assert (drained.body["id"], drained.body["status"], drained.body["drain_requested"]) == (
        "node-1#4f2a",
        "live",
        True,
    )

    resumed = await api.ask("POST", "/workers/node-1%234f2a/resume")
    assert (resumed.status, resumed.body["drain_requested"]) == (202, False)


@pytest.mark.parametrize("action", ["drain", "resume"])
async def test_a_worker_that_is_dead_is_a_conflict(api: Api, node: StillNode, action: str) -> None:
    await node.storage.workers.beat(a_worker(id="node-1#4f2a", status="dead"))

    answer = await api.ask("POST", f"/workers/node-1%234f2a/{action}")

    assert (answer.status, answer.body["code"], answer.body["current"]) == (409, "INVALID_TRANSITION", "dead")


@pytest.mark.parametrize("action", ["drain", "resume"])
async def test_the_document_says_how_a_path_writes_the_id_of_a_worker(api: Api, action: str) -> None:
    operation = api.document["paths"][f"/api/v1/workers/{{worker_id}}/{action}"]["post"]

    assert "`#` is written `%23`" in operation["parameters"][0]["description"]
    assert "409" in operation["responses"]


@pytest.mark.parametrize("action", ["drain", "resume"])
async def test_an_unknown_worker_is_a_404_that_names_it(api: Api, action: str) -> None:
    answer = await api.ask("POST", f"/workers/node-1%23gone/{action}")

    assert (answer.status, answer.body["code"], answer.body["worker_id"]) == (404, "WORKER_NOT_FOUND", "node-1#gone")


async def test_a_worker_is_not_asked_by_reading(api: Api) -> None:
    assert (await api.ask("GET", "/workers/node-1%23gone/drain")).status == 405


async def test_what_a_live_node_found_amiss_in_the_ledger_is_told_by_every_node(api: Api, node: StillNode) -> None:
    for name, found in {"node-1#a": 3, "node-2#b": 0}.items():
        await node.storage.workers.beat(a_worker(id=name, anomalies=found))
    await node.storage.workers.beat(a_worker(id="node-3#c", anomalies=5, status="dead"))

    assert (await api.ask("GET", "/scheduler/metrics")).body["system"]["anomalies"] == 3
    told = {worker["id"]: worker["anomalies"] for worker in (await api.ask("GET", "/workers")).body["items"]}
    assert told == {"node-1#a": 3, "node-2#b": 0, "node-3#c": 5}
    health = (await api.ask("GET", "/scheduler/health")).body
    assert health["issues"] == ["ledger: 3 anomalies in the ledger; the log of node node-1#a tells them"]


async def test_metrics_tell_what_nobody_has_taken(api: Api, node: StillNode) -> None:
    job = await api.job()
    await api.ask("POST", f"/jobs/{job['id']}/trigger")
    node.clock.advance(timedelta(minutes=2))

    assert (await api.ask("GET", "/scheduler/metrics")).body["queue"]["unclaimed"] == {"function/report": 1}


@pytest.mark.parametrize("period", ["1h", "24h", "7d", "30d"])
async def test_metrics_look_back_as_far_as_asked(api: Api, node: StillNode, period: str) -> None:
    job = await api.job()
    execution = (await api.ask("POST", f"/jobs/{job['id']}/trigger")).body
    await node.finish(execution["id"])
    node.clock.advance(timedelta(hours=2))

    metrics = (await api.ask("GET", f"/scheduler/metrics?period={period}")).body

    within = int(period != "1h")
    assert (metrics["time_range"], metrics["executions"]["total"]) == (period, within)
    assert metrics["performance"]["success_rate"] == (1.0 if within else None)
    assert metrics["jobs"]["active"] == 1
    assert {"queue", "system", "generated_at"} <= set(metrics)


async def test_an_unknown_period_is_refused(api: Api) -> None:
    assert (await api.ask("GET", "/scheduler/metrics?period=2h")).fields == ["period"]


async def test_a_node_that_is_well_says_so(api: Api, node: StillNode) -> None:
    await node.storage.workers.beat(a_worker())

    answer = await api.ask("GET", "/scheduler/health")

    assert (answer.status, answer.body["status"], answer.body["issues"]) == (200, "healthy", [])
    assert answer.body["components"]["store"] == {"status": "healthy", "detail": None}


@pytest.mark.parametrize(("state", "status"), [(HealthStatus.DEGRADED, 200), (HealthStatus.UNHEALTHY, 503)])
async def test_only_an_unhealthy_node_answers_503(node: StillNode, state: HealthStatus, status: int) -> None:
    async def check() -> Health:
        store = ComponentHealth(status=state, detail="slow")
        return Health(
            status=state,
            components={"store": store},
            issues=["store: slow"],
            timestamp=node.clock.now(),
            uptime_seconds=1,
        )

    async with serving_with(node, scheduler=replace(node.scheduler, health=check)) as api:
        answer = await api.ask("GET", "/scheduler/health")

    assert (answer.status, answer.body["status"], answer.body["issues"]) == (status, state.value, ["store: slow"])


async def test_the_probes_tell_serving_from_taking_work(api: Api, node: StillNode) -> None:
    assert (await api.ask("GET", "/health")).body == {"status": "live", "version": "1.2.3"}
    assert (await api.ask("GET", "/ready")).body == {"status": "ready"}

    node.is_ready = False

    assert (await api.ask("GET", "/health")).status == 200
    draining = await api.ask("GET", "/ready")
    assert (draining.status, draining.body["code"], draining.headers["Retry-After"]) == (503, "UNAVAILABLE", "1")
