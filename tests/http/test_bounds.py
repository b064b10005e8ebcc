"""Bad input over HTTP: each bound at both edges, and a field named for each fault."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.nodes import Api, a_body
from tocsin.domain.definition import INTEGER_BOUNDS, TAG_LENGTH, TAGS_LIMIT, TEXT_BOUNDS
from tocsin.domain.json import NESTING_LIMIT, PAYLOAD_LIMIT

INTEGER_EDGES = [
    (name, edge, is_sound)
    for name, (lowest, highest) in INTEGER_BOUNDS.items()
    for edge, is_sound in ((lowest - 1, False), (lowest, True), (highest, True), (highest + 1, False))
]
TEXT_EDGES = [
    (name, "n" * length, is_sound)
    for name in ("name", "key", "handler_name", "description")
    for length, is_sound in (
        (TEXT_BOUNDS[name][0], True),
        (TEXT_BOUNDS[name][1], True),
        (TEXT_BOUNDS[name][1] + 1, False),
    )
]


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(("name", "value", "is_sound"), [*INTEGER_EDGES, *TEXT_EDGES])
async def test_every_bound_holds_at_both_edges(api: Api, name: str, value: object, is_sound: bool) -> None:  # noqa: FBT001 - a column of the table
    body = a_body(allow_unknown_handler=True, **{name: value})

    answer = await api.ask("POST", "/jobs", body)

    assert answer.status == (201 if is_sound else 422), answer.text
    assert is_sound or (answer.body["code"], answer.fields) == ("INVALID_JOB", [name])


@pytest.mark.parametrize(("name", "value", "is_sound"), [*INTEGER_EDGES, *TEXT_EDGES])
async def test_a_patch_is_held_to_the_same_bounds(api: Api, name: str, value: object, is_sound: bool) -> None:  # noqa: FBT001 - a column of the table
    job = await api.job(allow_unknown_handler=True)

    answer = await api.ask("PATCH", f"/jobs/{job['id']}", {name: value})

    refused = name == "handler_name"  # No node has a function of such a name.
    assert answer.status == (200 if is_sound and not refused else 422), answer.text
    assert answer.status == 200 or answer.fields == [name]
    after = (await api.ask("GET", f"/jobs/{job['id']}")).body
    assert after[name] == (value if answer.status == 200 else job[name])


BAD_FIELDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": ...}, ["name"]),
    ({"type": ...}, ["type"]),
    ({"handler_name": ...}, ["handler_name"]),
    ({"name": ..., "type": "weekly", "priority": 101}, ["priority", "name", "type"]),
    ({"name": ""}, ["name"]),
    ({"name": None}, ["name"]),
    ({"name": 5}, ["name"]),
    ({"name": "a\0b"}, ["name"]),
    ({"name": "a\ud800b"}, ["name"]),
    ({"type": "weekly"}, ["type"]),
    ({"type": "event"}, ["schedule"]),
    ({"type": "interval"}, ["schedule"]),
    ({"type": "recurring"}, ["type"]),
    ({"schedule": ...}, ["schedule"]),
    ({"schedule": None}, ["schedule"]),
    ({"schedule": ""}, ["schedule"]),
    ({"schedule": "*" * 256}, ["schedule"]),
    ({"schedule": "61 * * * *"}, ["schedule"]),
    ({"schedule": "0 0 30 2 *"}, ["schedule"]),
    ({"schedule": {"cron": "* * * * *"}}, ["schedule"]),
    ({"timezone": "Mars/Olympus"}, ["timezone"]),
    ({"timezone": ""}, ["timezone"]),
    ({"timezone": "../../etc/passwd"}, ["timezone"]),
    ({"type": "one_time", "schedule": ...}, ["execute_at"]),
    ({"type": "one_time", "execute_at": "2026-01-02T00:00:00Z"}, ["execute_at"]),
    ({"type": "one_time", "schedule": ..., "execute_at": "2026-01-02T00:00:00"}, ["execute_at"]),
    ({"type": "one_time", "schedule": ..., "execute_at": "2025-12-31T23:58:59Z"}, ["execute_at"]),
    ({"type": "one_time", "schedule": ..., "execute_at": 1767225600}, ["execute_at"]),
    ({"type": "one_time", "schedule": ..., "execute_at": "soon"}, ["execute_at"]),
    ({"type": "one_time", "schedule": ..., "execute_at": "0001-01-01T00:00:00+14:00"}, ["execute_at"]),
    ({"type": "one_time", "schedule": ..., "execute_at": "9999-12-31T23:59:59-14:00"}, ["execute_at"]),
    ({"type": "one_time", "schedule": ..., "execute_at": "2199-12-31T23:59:59-01:00"}, ["execute_at"]),
    ({"schedule": ..., "execute_at": "2026-01-02T00:00:00Z"}, ["execute_at"]),
    ({"start_date": "2026-01-02T00:00:00"}, ["start_date"]),
    ({"start_date": "2026-01-02T00:00:00Z", "end_date": "2026-01-01T00:00:00Z"}, ["end_date"]),
    ({"end_date": "2025-01-01T00:00:00Z"}, ["end_date"]),
    ({"priority": "urgent"}, ["priority"]),
    ({"priority": "50"}, ["priority"]),
    ({"priority": True}, ["priority"]),
    ({"priority": 50.5}, ["priority"]),
    ({"priority": 10**400}, ["priority"]),
    ({"overlap_policy": "allow_all", "concurrency": 2}, ["concurrency"]),
    ({"overlap_policy": "allow_all", "concurrency": 1}, ["concurrency"]),
    ({"overlap_policy": "sometimes"}, ["overlap_policy"]),
    ({"misfire_policy": "sometimes"}, ["misfire_policy"]),
    ({"backoff": "sometimes"}, ["backoff"]),
    ({"retry_jitter": 1.01}, ["retry_jitter"]),
    ({"retry_jitter": -0.01}, ["retry_jitter"]),
    ({"retry_jitter": "0.5"}, ["retry_jitter"]),
    ({"handler_type": "agent"}, ["handler_type"]),
    ({"handler_type": "unknown"}, ["handler_type"]),
    ({"handler_type": "command", "payload": {"argv": ["true"]}}, ["handler_type"]),
    ({"handler_type": "http", "payload": {"method": "GET"}}, ["payload.url"]),
    ({"tags": "night"}, ["tags"]),
    ({"tags": [""]}, ["tags.0"]),
    ({"tags": ["a", "t" * (TAG_LENGTH + 1)]}, ["tags.1"]),
    ({"tags": ["t"] * (TAGS_LIMIT + 1)}, ["tags"]),
    ({"tags": [None]}, ["tags.0"]),
    ({"metadata": []}, ["metadata"]),
    ({"metadata": None}, ["metadata"]),
    ({"metadata": {"\0": 1}}, ["metadata"]),
    ({"payload": {"a": ["\ud800"]}}, ["payload"]),
    ({"payload": "x" * PAYLOAD_LIMIT}, ["payload"]),
    ({"payload": nested(NESTING_LIMIT + 1)}, ["payload"]),
    ({"enabled": "yes"}, ["enabled"]),
    ({"allow_unknown_handler": 1}, ["allow_unknown_handler"]),
    ({"tenant_id": "acme"}, ["tenant_id"]),
    ({"": 1}, ["body"]),
    ({"next\0": 1}, ["next\0"]),
    ({"next\ud800": 1}, ["body"]),
]


@pytest.mark.parametrize(("fields", "named"), BAD_FIELDS)
async def test_what_is_wrong_with_a_job_is_named_and_nothing_is_stored(
    api: Api, fields: dict[str, Any], named: list[str]
) -> None:
    answer = await api.ask("POST", "/jobs", a_body(**fields))

    assert answer.status == 422, answer.text
    assert answer.fields == named
    assert all(error["message"] for error in answer.body["errors"])
    assert (await api.ask("GET", "/jobs")).body["total"] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"overlap_policy": "allow_all"},
        {"overlap_policy": "queue_one", "concurrency": 1},
        {"tags": ["t" * TAG_LENGTH] * TAGS_LIMIT},
        {"payload": "x" * (PAYLOAD_LIMIT - 2)},
        {"payload": nested(NESTING_LIMIT)},
        {"payload": {"🔔": [1e308, -1, None, True, "ü\n"]}},
        {"retry_jitter": 1},
        {"retry_jitter": 0},
        {"priority": "low"},
        {"type": "one_time", "schedule": "2026-01-02T00:00:00+01:00"},
        {"type": "one_time", "schedule": ..., "execute_at": "2025-12-31T23:59:00.000001Z"},
        {"type": "recurring", "max_executions": 1},
        {"key": None, "description": None, "start_date": None, "max_executions": None},
    ],
)
async def test_what_lies_within_the_bounds_is_taken(api: Api, fields: dict[str, Any]) -> None:
    assert (await api.ask("POST", "/jobs", a_body(**fields))).status == 201


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": None}, ["name"]),
        ({"schedule": "every 1h"}, ["schedule"]),
        ({"overlap_policy": "allow_all", "concurrency": 1}, ["concurrency"]),
        ({"status": "paused"}, ["status"]),
        ({"version": 7}, ["version"]),
        ({"enabled": False}, ["enabled"]),
        ({"handler_name": "unknown"}, ["handler_name"]),
        ({"schedule": "0 0 * * *", "execute_at": "2026-01-02T00:00:00Z"}, ["execute_at"]),
        ({"max_executions": "5"}, ["max_executions"]),
    ],
)
async def test_what_is_wrong_with_a_patch_is_named_and_nothing_changes(
    api: Api, change: dict[str, Any], named: list[str]
) -> None:
    job = await api.job()

    answer = await api.ask("PATCH", f"/jobs/{job['id']}", change)

    assert (answer.status, answer.fields) == (422, named)
    assert (await api.ask("GET", f"/jobs/{job['id']}")).body == job


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, ["schedule"]),
        ({"schedule": "nonsense"}, ["schedule"]),
        ({"schedule": "every 1h", "timezone": "Mars/Olympus"}, ["timezone"]),
        ({"schedule": "every 1h", "name": "x"}, ["name"]),
    ],
)
async def test_a_schedule_that_cannot_be_given_is_refused(api: Api, body: dict[str, Any], named: list[str]) -> None:
    job = await api.job()

    answer = await api.ask("PUT", f"/jobs/{job['id']}/schedule", body)

    assert (answer.status, answer.body["code"], answer.fields) == (422, "INVALID_SCHEDULE", named)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"idempotency_key": "k"}, 202),
        ({"idempotency_key": "k" * 255}, 202),
        ({"idempotency_key": None}, 202),
        ({"idempotency_key": ""}, 422),
        ({"idempotency_key": "k" * 256}, 422),
        ({"idempotency_key": "a\0"}, 422),
        ({"payload": "x" * PAYLOAD_LIMIT}, 422),
        ({"payload": {"a": "\ud800"}}, 422),
        ({"key": "k"}, 422),
    ],
)
async def test_a_trigger_is_held_to_its_bounds(api: Api, body: dict[str, Any], status: int) -> None:
    job = await api.job()

    answer = await api.ask("POST", f"/jobs/{job['id']}/trigger", body)

    assert answer.status == status
    assert status == 202 or answer.fields == list(body)


@pytest.mark.parametrize("path", ["/jobs", "/executions"])
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=0", ["limit"]),
        ("limit=251", ["limit"]),
        ("limit=-1", ["limit"]),
        ("limit=ten", ["limit"]),
        ("limit=", ["limit"]),
        ("limit=1e2", ["limit"]),
        ("limit=%D9%A1", ["limit"]),
        (f"limit={10**30}", ["limit"]),
        ("limit=1&limit=2", ["limit"]),
        ("offset=-1", ["offset"]),
        (f"offset={10**30}", ["offset"]),
        ("cursor=nonsense", ["cursor"]),
        ("cursor=", ["cursor"]),
        ("cursor=%00", ["cursor"]),
        ("offset=0&cursor=x", ["cursor"]),
        ("status=unknown", ["status.0"]),
        ("status=active&status=", ["status.0", "status.1"]),
        ("page=2", ["page"]),
        ("Limit=2", ["Limit"]),
        ("=1", ["body"]),
    ],
)
async def test_a_query_that_means_nothing_is_refused_by_name(api: Api, path: str, query: str, named: list[str]) -> None:
    answer = await api.ask("GET", f"{path}?{query}")

    assert answer.status == 422, answer.text
    assert {field.partition(".")[0] for field in answer.fields} == {field.partition(".")[0] for field in named}


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/jobs?sort_by=size", "sort_by"),
        ("/jobs?sort_order=up", "sort_order"),
        ("/jobs?created_after=2026-01-01", "created_after"),
        ("/jobs?created_before=now", "created_before"),
        ("/jobs?name_contains=%00", "name_contains"),
        ("/jobs?job_id=x", "job_id"),
        ("/executions?job_id=x", "job_id"),
        ("/executions?scheduled_after=2026-01-01T00:00:00", "scheduled_after"),
        ("/executions?origin=chance", "origin"),
        ("/workers?limit=1", "limit"),
        ("/scheduler/metrics?period=1h&period=24h", "period"),
        ("/scheduler/health?verbose=1", "verbose"),
        ("/health?verbose=1", "verbose"),
    ],
)
async def test_a_bad_query_names_its_field(api: Api, path: str, field: str) -> None:
    answer = await api.ask("GET", path)

    assert (answer.status, [name.partition(".")[0] for name in answer.fields]) == (422, [field])


@pytest.mark.parametrize(("limit", "status"), [(0, 422), (1, 200), (250, 200), (251, 422)])
@pytest.mark.parametrize("path", ["/jobs", "/executions", "/jobs/{job}/executions"])
async def test_the_limit_of_a_list_holds_at_both_edges(api: Api, path: str, limit: int, status: int) -> None:
    job = await api.job()

    assert (await api.ask("GET", f"{path.format(job=job['id'])}?limit={limit}")).status == status


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=0", 422),
        ("limit=1", 200),
        ("limit=1000", 200),
        ("limit=1001", 422),
        ("after=-1", 422),
        ("after=0", 200),
        ("after=999999999", 200),
        (f"after={10**20}", 422),
    ],
)
async def test_the_part_of_a_log_holds_at_both_edges(api: Api, query: str, status: int) -> None:
    job = await api.job()
    execution = (await api.ask("POST", f"/jobs/{job['id']}/trigger")).body

    assert (await api.ask("GET", f"/executions/{execution['id']}/logs?{query}")).status == status


@pytest.mark.parametrize(("count", "status"), [(0, 422), (1, 200), (1000, 200), (1001, 422)])
async def test_the_length_of_a_preview_holds_at_both_edges(api: Api, count: int, status: int) -> None:
    job = await api.job()

    assert (await api.ask("GET", f"/jobs/{job['id']}/preview?count={count}")).status == status


async def test_a_cursor_fits_no_other_list(api: Api) -> None:
    for name in ("a", "b"):
        await api.job(name=name)
    cursor = (await api.ask("GET", "/jobs?limit=1")).body["next_cursor"]

    assert (await api.ask("GET", f"/jobs?limit=1&sort_by=name&cursor={cursor}")).fields == ["cursor"]
    assert (await api.ask("GET", f"/executions?cursor={cursor}")).fields == ["cursor"]
