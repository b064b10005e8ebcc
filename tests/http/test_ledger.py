"""A job's ledger and its history over HTTP."""

from __future__ import annotations

import pytest

from tests.http.nodes import Api, StillNode
from tests.makers import planner

MINUTELY = {"schedule": "* * * * *", "overlap_policy": "allow_all"}


async def test_a_report_has_every_total_and_the_window(api: Api, node: StillNode) -> None:
    job = await api.job(**MINUTELY)
    node.clock.advance(60)
    await node.storage.ledger.fire(planner, limit=1)

    answer = await api.ask("GET", f"/jobs/{job['id']}/ledger?from=2026-01-01T00:00:00Z")

    assert answer.status == 200
    nothing = dict.fromkeys(("ran", "ran_late", "failed", "timeout", "cancelled", "running", "due"), 0)
    totals = {**nothing, "purged": 0, "unknown": 0, "missing": 0, "pending": 1, "nominal_times": 1, "skipped": {}}
    assert answer.body == {
        "job_id": job["id"],
        "since": "2026-01-01T00:00:00Z",
        "until": "2026-01-01T00:01:00Z",
        "is_clean": True,
        "totals": totals,
        "findings": [],
        "findings_count": 0,
        "notes": [],
    }


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
        ("from=yesterday", "from"),
        ("to=2026-01-01T00:00:00", "to"),
        ("since=2026-01-01T00:00:00Z", "since"),
        ("from=2026-02-01T00:00:00Z&to=2026-02-02T00:00:00Z", "from"),
        ("to=2026-02-02T00:00:00Z", "to"),
    ],
)
async def test_a_window_that_makes_no_sense_is_refused_by_its_field(api: Api, query: str, field: str) -> None:
    job = await api.job()

    answer = await api.ask("GET", f"/jobs/{job['id']}/ledger?{query}")

    assert (answer.status, answer.body["code"], answer.fields) == (422, "INVALID_INPUT", [field])


async def test_changes_have_the_envelope_of_every_list(api: Api) -> None:
    job = await api.job(**MINUTELY)
    await api.ask("POST", f"/jobs/{job['id']}/pause")

    first = (await api.ask("GET", f"/jobs/{job['id']}/changes?limit=1")).body
    last = (await api.ask("GET", f"/jobs/{job['id']}/changes?limit=1&cursor={first['next_cursor']}")).body

    [paused], [created] = first.pop("items"), last.pop("items")
    assert first == {"total": 2, "limit": 1, "offset": None, "next_cursor": "2", "has_next": True}
    assert last == {"total": 2, "limit": 1, "offset": None, "next_cursor": None, "has_next": False}
    assert (paused["reason"], paused["before"]["status"], paused["after"]["status"]) == ("paused", "active", "paused")
    assert (created["before"], created["after"]["definition"]["schedule"]) == (None, "* * * * *")


@pytest.mark.parametrize("what", ["ledger", "changes"])
async def test_an_unknown_or_malformed_id_is_not_found(api: Api, what: str) -> None:
    for job_id in ("00000000-0000-7000-8000-000000000000", "7"):
        answer = await api.ask("GET", f"/jobs/{job_id}/{what}")
        assert (answer.status, answer.body["code"]) == (404, "JOB_NOT_FOUND")
