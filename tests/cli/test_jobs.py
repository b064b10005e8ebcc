from __future__ import annotations

import json
from pathlib import Path

import pytest

from tocsin.domain.execution import ExecutionStatus

from .conftest import CommandLine

UNKNOWN = "019b76da-a800-7571-828f-1072bec44bc1"


def test_a_cron_job_is_created_and_shown(tocsin: CommandLine) -> None:
    made = tocsin(
        *("jobs", "create", "--name", "backup", "--cron", "0 2 * * *", "--timezone", "Europe/Berlin"),
        *("--handler", "tocsin.noop", "--tag", "night", "--tag", "disk", "--priority", "high"),
    )
    (job,) = tocsin.jobs()

    assert made.code == 0
    assert "0 2 * * * Europe/Berlin (cron)" in made.out
    assert (job["type"], job["tags"], job["priority"]) == ("cron", ["night", "disk"], 75)
    assert job["next_run"] == "2026-01-01T01:00:00Z"


@pytest.mark.parametrize("length", ["15m", "every 15m", "PT15M"])
def test_an_interval_may_be_written_in_several_ways(tocsin: CommandLine, length: str) -> None:
    made = tocsin("jobs", "create", "--name", "tick", "--every", length, "--handler", "tocsin.noop", "--json")

    assert (made.json["type"], made.json["next_run"]) == ("interval", "2026-01-01T00:15:00Z")


def test_an_instant_may_be_wall_time_in_a_zone(tocsin: CommandLine) -> None:
    made = tocsin(
        *("jobs", "create", "--name", "once", "--at", "2026-07-01T08:00", "--timezone", "Europe/Berlin"),
        *("--handler", "tocsin.noop", "--json"),
    )

    assert (made.json["type"], made.json["execute_at"]) == ("one_time", "2026-07-01T06:00:00Z")


def test_a_schedule_with_an_end_is_recurring(tocsin: CommandLine) -> None:
    job = tocsin.create("--max-executions", "3", "--end", "2027-01-01T00:00:00Z")

    assert (job["type"], job["max_executions"], job["end_date"]) == ("recurring", 3, "2027-01-01T00:00:00Z")


def test_a_url_becomes_an_http_job(tocsin: CommandLine) -> None:
    job = tocsin.create(
        *("--url", "https://example.com/", "--header", "Accept: text/plain", "--expect", "200", "--expect", "204"),
        *("--body", '{"a": 1}'),
    )

    assert (job["handler_type"], job["handler_name"]) == ("http", "http")
    assert job["payload"] == {
        "method": "POST",
        "url": "https://example.com/",
        "headers": {"Accept": "text/plain"},
        "body": {"a": 1},
        "expect": [200, 204],
    }


def test_a_command_line_becomes_a_command_job(tocsin: CommandLine) -> None:
    job = tocsin.create("--command", "echo hello | wc -c")

    assert (job["handler_type"], job["payload"]) == ("command", {"shell": "echo hello | wc -c"})


def test_a_payload_comes_from_a_file_or_from_stdin(tocsin: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "payload.json").write_text('{"from": "file"}', "utf-8")
    job = tocsin.create("--payload", f"@{tmp_path}/payload.json")
    changed = tocsin("jobs", "update", job["id"], "--payload", "@-", "--json", stdin='{"from": "stdin"}')

    assert job["payload"] == {"from": "file"}
    assert changed.json["payload"] == {"from": "stdin"}


def test_any_field_can_be_set_by_name(tocsin: CommandLine) -> None:
    job = tocsin.create(
        *("--set", "overlap_policy=queue_all", "--set", "concurrency=3", "--set", "retry_jitter=0.5"),
        *("--set", 'metadata={"team": "night"}', "--set", "backoff=fixed"),
    )

    assert (job["overlap_policy"], job["concurrency"], job["retry_jitter"]) == ("queue_all", 3, 0.5)
    assert (job["metadata"], job["backoff"]) == ({"team": "night"}, "fixed")


def test_a_paused_job_does_not_fire(tocsin: CommandLine) -> None:
    job = tocsin.create("--paused")

    assert (job["status"], job["next_run"]) == ("paused", None)


def test_a_taken_key_is_a_conflict_unless_told_otherwise(tocsin: CommandLine) -> None:
    job = tocsin.create("--key", "nightly")
    again = ("jobs", "create", "--name", "other", "--cron", "@daily", "--handler", "tocsin.noop", "--key", "nightly")
    refused = tocsin(*again)
    kept = tocsin(*again, "--on-conflict", "keep", "--json")
    replaced = tocsin(*again, "--on-conflict", "replace", "--json")

    assert refused.code == 5
    assert f"tocsin jobs show {job['id']}" in refused.err
    assert (kept.json["id"], kept.json["name"]) == (job["id"], "report")
    assert (replaced.json["id"], replaced.json["name"], replaced.json["version"]) == (job["id"], "other", 2)


def test_a_job_may_be_named_by_id_key_or_name(tocsin: CommandLine) -> None:
    job = tocsin.create("--key", "nightly")

    for reference in (job["id"], "nightly", "report"):
        assert tocsin("jobs", "show", reference, "--json").json["id"] == job["id"]


def test_a_name_that_several_jobs_have_is_refused_with_their_ids(tocsin: CommandLine) -> None:
    ids = [tocsin.create()["id"] for _ in range(2)]
    shown = tocsin("jobs", "show", "report")

    assert shown.code == 2
    assert all(each in shown.err for each in ids)


def test_a_cancelled_job_gives_its_key_away(tocsin: CommandLine) -> None:
    tocsin.create("--key", "nightly")
    tocsin("jobs", "cancel", "nightly", "--yes")
    second = tocsin.create("--key", "nightly")

    assert tocsin("jobs", "show", "nightly", "--json").json["id"] == second["id"]


def test_jobs_are_listed_by_filter_and_page(tocsin: CommandLine) -> None:
    for number in range(3):
        tocsin.create("--tag", f"t{number}", name=f"job {number}")
    first = tocsin("jobs", "list", "--limit", "2", "--sort", "name", "--json").json
    rest = tocsin(
        *("jobs", "list", "--limit", "2", "--sort", "name", "--json"),
        *("--cursor", first["next_cursor"]),
    ).json
    tagged = tocsin("jobs", "list", "--tag", "t1", "--status", "active", "--json").json

    assert [job["name"] for job in first["items"] + rest["items"]] == ["job 0", "job 1", "job 2"]
    assert (first["total"], first["has_next"], rest["has_next"]) == (3, True, False)
    assert [job["name"] for job in tagged["items"]] == ["job 1"]


def test_a_page_says_how_to_go_on(tocsin: CommandLine) -> None:
    for _ in range(2):
        tocsin.create()
    page = tocsin("jobs", "list", "--limit", "1")

    assert "1 of 2; go on with --cursor " in page.err
    assert "--cursor" not in page.out


def test_an_update_changes_only_what_is_named(tocsin: CommandLine) -> None:
    job = tocsin.create("--description", "old", "--tag", "kept")
    changed = tocsin(
        *("jobs", "update", job["id"], "--name", "new", "--set", "max_retries=7", "--unset", "description", "--json"),
        *("--expected-version", "1"),
    ).json

    assert (changed["name"], changed["max_retries"], changed["description"]) == ("new", 7, None)
    assert (changed["tags"], changed["version"]) == (["kept"], 2)


def test_an_update_of_another_version_changes_nothing(tocsin: CommandLine) -> None:
    job = tocsin.create()
    refused = tocsin("jobs", "update", job["id"], "--name", "new", "--expected-version", "4")

    assert refused.code == 5
    assert "expected version 4, but it is at version 1" in refused.err
    assert tocsin.jobs() == [job]


def test_a_job_is_rescheduled(tocsin: CommandLine) -> None:
    job = tocsin.create()
    changed = tocsin("jobs", "reschedule", job["id"], "--every", "PT6H", "--json").json

    assert (changed["type"], changed["schedule"], changed["version"]) == ("interval", "PT6H", 2)


def test_a_job_is_paused_and_resumed(tocsin: CommandLine) -> None:
    job = tocsin.create()
    paused = tocsin("jobs", "pause", job["id"], "--json").json
    twice = tocsin("jobs", "pause", job["id"])
    resumed = tocsin("jobs", "resume", job["id"], "--json").json

    assert (paused["status"], resumed["status"]) == ("paused", "active")
    assert twice.code == 5
    assert "INVALID_TRANSITION" in twice.err


def test_a_deleted_job_is_not_found(tocsin: CommandLine) -> None:
    job = tocsin.create()
    deleted = tocsin("jobs", "delete", job["id"], "--yes")
    shown = tocsin("jobs", "show", job["id"])

    assert (deleted.code, deleted.out) == (0, f"deleted job {job['id']}\n")
    assert shown.code == 4


def test_the_executions_of_a_deleted_job_are_listed_by_its_id(tocsin: CommandLine) -> None:
    job = tocsin.create()
    tocsin("jobs", "trigger", job["id"])
    tocsin("jobs", "delete", job["id"], "--yes")
    listed = tocsin("executions", "list", "--job", job["id"], "--json").json

    assert [each["job_id"] for each in listed["items"]] == [job["id"]]
    for command in ("delete", "history"):
        assert "`tocsin executions list --job ID`" in " ".join(tocsin("jobs", command, "--help").out.split())


@pytest.mark.parametrize("answer", ["n\n", "y\n", ""])
@pytest.mark.parametrize("command", ["cancel", "delete"])
def test_without_a_terminal_nothing_is_ended_unless_told_to(tocsin: CommandLine, command: str, answer: str) -> None:
    job = tocsin.create()
    ended = tocsin("jobs", command, job["id"], stdin=answer)

    assert (ended.code, ended.out) == (2, "")
    assert "Give --yes" in ended.err
    assert tocsin.jobs() == [job]


def test_a_job_on_demand_runs_only_when_triggered(tocsin: CommandLine) -> None:
    made = tocsin("jobs", "create", "--name", "deploy", "--on-demand", "--handler", "tocsin.noop", "--json").json
    shown = tocsin("jobs", "show", "deploy").out
    previewed = tocsin("jobs", "preview", "deploy")

    assert (made["type"], made["schedule"], made["next_run"]) == ("event", None, None)
    assert "when triggered (event)" in shown
    assert previewed.out == "when triggered\nno fires to come\n"
    assert tocsin("jobs", "trigger", "deploy").code == 0


def test_one_is_one_and_not_several(tocsin: CommandLine) -> None:
    tocsin.create("--max-executions", "1", "--set", "max_retries=1")
    triggered = tocsin("jobs", "trigger", "report").out

    assert "1 execution\n" in tocsin("jobs", "show", "report").out
    assert "0, 0 failures, 1 retry allowed" in triggered


def test_a_failed_run_by_hand_is_retried(tocsin: CommandLine) -> None:
    job = tocsin.create("--set", "max_retries=0")
    triggered = tocsin("jobs", "trigger", job["id"], "--payload", '{"n": 1}', "--idempotency-key", "k", "--json").json
    same = tocsin("jobs", "trigger", job["id"], "--idempotency-key", "k", "--json").json
    tocsin.run_pending(ExecutionStatus.FAILED)
    retried = tocsin("jobs", "retry", job["id"], "--json").json

    assert (triggered["origin"], triggered["payload"], same["id"]) == ("manual", {"n": 1}, triggered["id"])
    assert (retried["origin"], retried["retry_of"]) == ("retry", triggered["id"])


def test_the_history_and_the_figures_of_a_job(tocsin: CommandLine) -> None:
    job = tocsin.create("--set", "max_retries=0")
    for status in (ExecutionStatus.SUCCESS, ExecutionStatus.FAILED):
        tocsin("jobs", "trigger", job["id"])
        tocsin.run_pending(status)
    failed = tocsin("jobs", "history", job["id"], "--status", "failed", "--json").json
    stats = tocsin("jobs", "stats", job["id"], "--json").json
    table = tocsin("jobs", "stats", job["id"]).out

    assert [(each["error_type"], each["error"]) for each in failed["items"]] == [("ValueError", "broken")]
    assert (stats["total_executions"], stats["success_rate"], stats["p95_duration_ms"]) == (2, 0.5, 1500)
    assert "ValueError" in table
    assert "50.0%" in table


def test_the_fires_of_a_job_to_come(tocsin: CommandLine) -> None:
    job = tocsin.create("--timezone", "Europe/Berlin")
    fires = tocsin("jobs", "preview", job["id"], "--count", "2", "--after", "2026-03-27T12:00:00Z", "--json").json

    assert [fire["local"] for fire in fires["fires"]] == ["2026-03-28T02:00:00+01:00", "2026-03-29T03:00:00+02:00"]
    assert "does not exist" in fires["fires"][1]["note"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("update", "--name", "new"),
        ("reschedule", "--every", "1h"),
        ("pause",),
        ("resume",),
        ("cancel", "--yes"),
        ("delete", "--yes"),
        ("trigger",),
        ("retry",),
        ("history",),
        ("stats",),
        ("preview",),
    ],
)
@pytest.mark.parametrize("reference", [UNKNOWN, "no such job", ""])
def test_a_job_that_does_not_exist_is_not_found(
    tocsin: CommandLine, arguments: tuple[str, ...], reference: str
) -> None:
    command, *options = arguments
    ended = tocsin("jobs", command, reference, *options)

    assert (ended.code, ended.out) == (4, "")
    assert "JOB_NOT_FOUND" in ended.err
    assert "tocsin jobs list" in ended.err


def test_a_whole_name_is_found_however_many_jobs_have_it_within_theirs(tocsin: CommandLine) -> None:
    meant = tocsin.create(name="tick")
    job = {"schedule": "every 15m", "handler_name": "tocsin.noop"}
    tocsin("jobs", "create-many", "-", stdin=json.dumps([{**job, "name": f"tick {number}"} for number in range(251)]))

    assert tocsin("jobs", "show", "tick", "--json").json["id"] == meant["id"]


def test_an_option_that_a_command_has_not_is_not_advised(tocsin: CommandLine) -> None:
    tocsin.create()
    created = tocsin("jobs", "create", "--name", "x", "--cron", "@daily", "--handler", "unknown")
    updated = tocsin("jobs", "update", "report", "--set", "handler_name=unknown")

    assert "--allow-unknown-handler" in created.err
    assert "start a node that has it" in updated.err
    assert "--allow-unknown-handler" not in updated.err


def test_a_key_of_32_digits_is_no_id(tocsin: CommandLine) -> None:
    meant = tocsin.create("--key", "0123456789abcdef0123456789abcdef")

    assert tocsin("jobs", "show", "0123456789abcdef0123456789abcdef", "--json").json["id"] == meant["id"]
    assert tocsin("jobs", "show", meant["id"].upper(), "--json").json["id"] == meant["id"]
