"""Executions over HTTP: what each route answers."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

import pytest

from tests.http.nodes import NOBODY, Api, StillNode
from tocsin.domain.execution import JobExecution
from tocsin.ports.ledger import LogLine


async def an_execution(api: Api, **job: object) -> str:
    made = await api.job(**job)
    answer = await api.ask("POST", f"/jobs/{made['id']}/trigger")
    return str(answer.body["id"])


async def test_an_execution_shows_every_field_of_its_record(api: Api) -> None:
    execution_id = await an_execution(api)

    shown = (await api.ask("GET", f"/executions/{execution_id}")).body

    assert set(shown) == {field.name for field in fields(JobExecution)} - {"holds_slot"}
    assert (shown["past_attempts"], shown["metadata"], shown["result"]) == ([], {}, None)
    assert shown["scheduled_at"] == "2026-01-01T00:00:00Z"


async def test_an_execution_lists_its_past_attempts(api: Api, node: StillNode) -> None:
    execution_id = await an_execution(api, max_retries=1)
    await node.finish(execution_id, succeeds=False)

    shown = (await api.ask("GET", f"/executions/{execution_id}")).body

    [past] = shown["past_attempts"]
    assert (past["attempt"], past["outcome"], past["error_type"]) == (1, "failed", "ValueError")
    assert (shown["status"], shown["failures"]) == ("pending", 1)


async def test_executions_of_all_jobs_are_listed_and_narrowed_down(api: Api, node: StillNode) -> None:
    one, other = await an_execution(api, name="one"), await an_execution(api, name="other")
    await node.finish(one)
    job_id = (await api.ask("GET", f"/executions/{other}")).body["job_id"]

    async def listed(query: str) -> set[str]:
        return {execution["id"] for execution in (await api.ask("GET", f"/executions?{query}")).body["items"]}

    assert await listed("") == {one, other}
    assert await listed("status=success") == {one}
    assert await listed("status=success&status=pending") == {one, other}
    assert await listed(f"job_id={job_id}") == {other}
    assert await listed("origin=schedule") == set()
    assert await listed("scheduled_after=2026-01-01T00:00:00Z&scheduled_before=2026-01-01T00:00:00Z") == {one, other}


async def test_a_pending_execution_is_cancelled_once(api: Api) -> None:
    execution_id = await an_execution(api)

    first, second = [await api.ask("POST", f"/executions/{execution_id}/cancel") for _ in range(2)]

    assert (first.status, first.body["status"]) == (200, "cancelled")
    assert (second.status, second.body["code"], second.body["subject"]) == (409, "INVALID_TRANSITION", "execution")


async def test_a_failed_execution_is_retried_as_a_new_one(api: Api, node: StillNode) -> None:
    execution_id = await an_execution(api, max_retries=0)
    await node.finish(execution_id, succeeds=False)

    retried = await api.ask("POST", f"/executions/{execution_id}/retry")

    assert (retried.status, retried.body["retry_of"]) == (201, execution_id)
    assert retried.headers["Location"].endswith(f"/executions/{retried.body['id']}")


async def test_an_execution_that_succeeded_is_not_retried(api: Api, node: StillNode) -> None:
    execution_id = await an_execution(api)
    await node.finish(execution_id)

    assert (await api.ask("POST", f"/executions/{execution_id}/retry")).status == 409


async def test_a_log_is_read_on_from_where_the_reader_was(api: Api, node: StillNode) -> None:
    execution_id = await an_execution(api)
    lines = [
        LogLine(
            execution_id=UUID(execution_id),
            attempt=1,
            sequence=number,
            logged_at=node.clock.now(),
            level="info",
            message=f"line {number}",
            fields={"number": number},
        )
        for number in range(5)
    ]
    await node.storage.ledger.append_logs(lines)

    pages = [
        (await api.ask("GET", f"/executions/{execution_id}/logs?after={after}&limit=2")).body for after in (0, 2, 4)
    ]

    messages = [[line["message"] for line in page["items"]] for page in pages]
    assert messages == [["line 0", "line 1"], ["line 2", "line 3"], ["line 4"]]
    assert [page["has_next"] for page in pages] == [True, True, False]
    assert pages[0]["items"][1]["fields"] == {"number": 1}


@pytest.mark.parametrize("execution_id", [NOBODY, "x", "%00"])
@pytest.mark.parametrize("route", ["GET ", "GET /logs", "POST /cancel", "POST /retry"])
async def test_an_execution_that_does_not_exist_is_a_404_everywhere(api: Api, execution_id: str, route: str) -> None:
    method, _, path = route.partition(" ")

    answer = await api.ask(method, f"/executions/{execution_id}{path}")

    assert (answer.status, answer.body["code"]) == (404, "EXECUTION_NOT_FOUND")


async def test_another_tenants_execution_does_not_exist(api: Api, node: StillNode) -> None:
    acme = node.scheduler.for_tenant("acme")
    job = await acme.schedule_recurring("theirs", schedule="every 1h", handler_name="report")
    execution = await acme.trigger_job(job.id)

    assert (await api.ask("GET", f"/executions/{execution.id}")).status == 404
    assert (await api.ask("GET", "/executions")).body["total"] == 0


async def test_a_deeply_nested_payload_is_shown(api: Api) -> None:
    payload: object = "bottom"
    for _ in range(99):
        payload = [payload]

    job = await api.job(payload=payload)

    assert (await api.ask("GET", f"/jobs/{job['id']}")).body["payload"] == payload
    assert (await api.ask("GET", "/jobs")).body["items"][0]["payload"] == payload
