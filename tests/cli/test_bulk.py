from __future__ import annotations

import json
from typing import Any

import pytest

from tocsin.adapters.cli.job_documents import definition_in
from tocsin.adapters.cli.request_sizes import in_requests
from tocsin.domain.definition import document
from tocsin.ports.batches import NewJob

from .conftest import CommandLine


@pytest.fixture
def three(tocsin: CommandLine) -> CommandLine:
    """Two jobs of the night, and one of the day."""
    for name, tag in (("backup", "night"), ("report", "night"), ("poll", "day")):
        tocsin.create("--tag", tag, name=name)
    return tocsin


def statuses(tocsin: CommandLine) -> dict[str, str]:
    return {job["name"]: job["status"] for job in tocsin.jobs()}


def test_jobs_that_match_are_changed_and_no_others(three: CommandLine) -> None:
    ended = three("jobs", "bulk", "pause", "--tag", "night", "--yes", "--json")

    assert (ended.code, ended.json["matched"], ended.json["changed"]) == (0, 2, 2)
    assert statuses(three) == {"backup": "paused", "report": "paused", "poll": "active"}


def test_a_dry_run_tells_what_would_be_and_writes_nothing(three: CommandLine) -> None:
    ended = three("jobs", "bulk", "cancel", "--all", "--dry-run")

    assert ended.code == 0
    assert "cancel: 3 jobs meant, would change 3; nothing was changed (--dry-run)" in ended.out
    assert set(statuses(three).values()) == {"active"}


def test_jobs_may_be_named(three: CommandLine) -> None:
    three("jobs", "bulk", "pause", "backup", "poll", "--yes")

    assert statuses(three) == {"backup": "paused", "report": "active", "poll": "paused"}


def test_without_a_terminal_nothing_is_changed_before_somebody_said_yes(three: CommandLine) -> None:
    ended = three("jobs", "bulk", "trigger", "--tag", "night")

    assert ended.code == 2
    assert "Trigger 2 jobs? Give --yes" in ended.err
    assert three("executions", "list", "--json").json["total"] == 0


def test_where_nothing_would_change_nobody_is_asked(three: CommandLine) -> None:
    three("jobs", "bulk", "pause", "--tag", "day", "--yes")
    ended = three("jobs", "bulk", "pause", "--tag", "day")

    assert ended.code == 0
    assert "changed 0, 1 stood so before" in ended.out


def test_jobs_that_cannot_be_changed_so_are_told_and_hinder_no_other(three: CommandLine) -> None:
    three("jobs", "cancel", "poll", "--yes")
    ended = three("jobs", "bulk", "pause", "--all", "--yes")

    assert ended.code == 6
    assert "the job is cancelled" in ended.out
    assert statuses(three) == {"backup": "paused", "report": "paused", "poll": "cancelled"}


@pytest.mark.parametrize("meant", [(), ("backup", "--all"), ("--all", "--tag", "night"), ("backup", "--tag", "night")])
def test_which_jobs_are_meant_is_said_in_one_way(three: CommandLine, meant: tuple[str, ...]) -> None:
    ended = three("jobs", "bulk", "pause", *meant, "--yes")

    assert ended.code == 2
    assert "say which: name them, or use filters such as --tag, or --all" in ended.err
    assert set(statuses(three).values()) == {"active"}


def lines(*jobs: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(job)}\n" for job in jobs)


TICK = {"name": "tick", "schedule": "every 15m", "handler_name": "tocsin.noop", "tags": ["a"], "enabled": False}
ONCE = {"name": "once", "execute_at": "2030-01-01T00:00:00Z", "handler_name": "tocsin.noop", "priority": 75}
CALL = {
    "name": "call",
    "schedule": "0 2 * * *",
    "handler_type": "http",
    "payload": {"method": "GET", "url": "https://x.org/"},
}


@pytest.mark.parametrize("text", [lines(TICK, ONCE, CALL), json.dumps([TICK, ONCE, CALL])], ids=["lines", "array"])
def test_many_jobs_are_created_from_a_file(tocsin: CommandLine, text: str) -> None:
    ended = tocsin("jobs", "create-many", "-", "--json", stdin=text)
    assert ended.code == 0, ended.err
    found = [(job["name"], job["type"], job["status"]) for job in ended.json["items"]]

    assert ended.code == 0
    assert found == [
        ("tick", "interval", "paused"),
        ("once", "one_time", "active"),
        ("call", "cron", "active"),
    ]
    assert len(tocsin.jobs()) == 3


def test_more_jobs_than_one_call_takes_are_created(tocsin: CommandLine) -> None:
    every = lines(*({**TICK, "name": f"tick {number}"} for number in range(1001)))
    ended = tocsin("jobs", "create-many", "-", "-o", "ids", stdin=every)

    assert len(set(ended.out.split())) == 1001


@pytest.mark.parametrize(
    ("job", "word"),
    [
        ({**TICK, "shedule": "@daily"}, "jobs[1].shedule: is not a known field; did you mean schedule?"),
        ({"schedule": "@daily", "handler_name": "x"}, "jobs[1].name: is required"),
        ({"name": "x", "schedule": "@daily"}, "jobs[1].handler_name: is required"),
        ({**TICK, "priority": 101}, "jobs[1].priority: must be between 0 and 100"),
        ({**TICK, "overlap_policy": "hope"}, "jobs[1].overlap_policy: must be one of"),
        ({**TICK, "schedule": "61 * * * *"}, "jobs[1].schedule"),
        ({**TICK, "enabled": "no"}, "jobs[1].enabled: must be true or false"),
        ({**ONCE, "schedule": "@daily"}, "jobs[1].execute_at: cannot go with schedule"),
        ({**TICK, "start_date": "soon"}, "jobs[1].start_date"),
        ({**TICK, "tags": 7}, "jobs[1].tags"),
        ({**TICK, "name": 7}, "jobs[1].name"),
        ({**TICK, "schedule": 7}, "jobs[1].schedule"),
    ],
)
def test_a_job_that_is_none_is_named_by_its_place_and_none_is_created(
    tocsin: CommandLine, job: dict[str, Any], word: str
) -> None:
    ended = tocsin("jobs", "create-many", "-", stdin=lines(CALL, job))

    assert (ended.code, ended.out) == (2, "")
    assert word in ended.err
    assert tocsin.jobs() == []


def test_what_is_refused_far_down_a_file_is_told_by_its_place_and_what_came_before_is_there(
    tocsin: CommandLine,
) -> None:
    tocsin.commands_allowed = False
    command = {"name": "x", "schedule": "@daily", "handler_type": "command", "payload": {"shell": "true"}}
    ended = tocsin("jobs", "create-many", "-", stdin=lines(*([TICK] * 1000), TICK, command))

    assert ended.code == 6
    assert "jobs[1001].handler_type" in ended.err
    assert "1000 jobs were created before that: go on with --after 1000" in ended.err
    assert tocsin("jobs", "list", "--json").json["total"] == 1000


def test_what_was_created_before_something_was_refused_is_answered_in_every_form(tocsin: CommandLine) -> None:
    tocsin.commands_allowed = False
    command = {"name": "x", "schedule": "@daily", "handler_type": "command", "payload": {"shell": "true"}}
    file = lines(*([TICK] * 200), command)
    ids = tocsin("jobs", "create-many", "-", "-o", "ids", stdin=file)
    as_json = tocsin("jobs", "create-many", "-", "--json", stdin=file)
    tocsin.commands_allowed = True
    rest = tocsin("jobs", "create-many", "-", "--after", "200", "--json", stdin=file)

    assert (ids.code, len(ids.out.split())) == (6, 200)
    assert (as_json.code, as_json.json["total"]) == (6, 200)
    assert (rest.code, [job["name"] for job in rest.json["items"]]) == (0, ["x"])


def test_a_body_stays_within_what_a_server_reads_whatever_its_letters_take() -> None:
    wide: dict[str, Any] = {**TICK, "payload": "\N{SNOWMAN}" * 80_000}
    jobs = [NewJob(definition=definition_in({**wide, "name": str(number)})) for number in range(4)]

    assert [len(part) for part in in_requests(jobs, lambda each: document(each.definition))] == [2, 2]


@pytest.mark.parametrize("option", ["--name", "--tag", "--tag-all", "--handler", "--key", "--created-by"])
def test_a_filter_that_is_empty_does_not_mean_every_job(three: CommandLine, option: str) -> None:
    ended = three("jobs", "bulk", "cancel", option, "", "--yes")

    assert ended.code == 2
    assert f"{option.removeprefix('--').replace('-', '_')}: is empty" in ended.err
    assert set(statuses(three).values()) == {"active"}


def test_ids_alone_are_refused_before_anything_is_done_where_not_all_would_be_shown(tocsin: CommandLine) -> None:
    every = lines(*({**TICK, "name": f"tick {number}", "enabled": True} for number in range(51)))
    tocsin("jobs", "create-many", "-", stdin=every)
    ended = tocsin("jobs", "bulk", "pause", "--all", "--yes", "-o", "ids")

    assert (ended.code, ended.out) == (2, "")
    assert "only 50 of 51 ids would be shown" in ended.err
    assert tocsin("jobs", "list", "--status", "paused", "--json").json["total"] == 0


def test_machines_are_asked_with_the_jobs_in_sight_too(three: CommandLine) -> None:
    ended = three("jobs", "bulk", "pause", "--tag", "day", "--json")

    assert (ended.code, ended.out) == (2, "")
    assert "poll" in ended.err


def test_a_text_may_hold_what_ends_a_line_elsewhere(tocsin: CommandLine) -> None:
    made = tocsin(
        "jobs", "create-many", "-", "--json", stdin=json.dumps({**TICK, "payload": "a\u2028b"}, ensure_ascii=False)
    )

    assert made.code == 0, made.err
    assert made.json["items"][0]["payload"] == "a\u2028b"


def test_a_job_is_taken_as_the_http_api_takes_it(tocsin: CommandLine) -> None:
    job = {**TICK, "priority": "high", "execute_at": None, "key": None}
    [made] = tocsin("jobs", "create-many", "-", "--json", stdin=lines(job)).json["items"]

    assert made["priority"] == 75


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"name": "x", "schedule": "@daily", "handler_type": []}', "jobs[0].handler_name: is required"),
        ('{"name": "x", "schedule": "@daily", "handler_name": "x", "handler_type": []}', "jobs[0].handler_type"),
        ('{"name": "x"}\n' + "[" * 100_000, "line 2 nests too deeply"),
        ('{"name": "x", "payload": NaN}', "line 1 is not JSON: NaN is no JSON number"),
        ('{"name": "x", "payload": 1e999}', "line 1 is not JSON: a number is beyond"),
        ('{"name": "x", "name": "y"}', "line 1 is not JSON: 'name' is given twice"),
        ('[{"name": "x", "name": "y"}]', "file: is not JSON: 'name' is given twice"),
    ],
)
def test_what_is_no_sound_json_is_told_and_never_a_traceback(tocsin: CommandLine, text: str, word: str) -> None:
    ended = tocsin("jobs", "create-many", "-", stdin=text)

    assert ended.code == 2
    assert word in ended.err


@pytest.mark.parametrize("text", ["{", "7", "[7]", '[{"name": "x"'])
def test_a_file_that_holds_no_jobs_is_refused(tocsin: CommandLine, text: str) -> None:
    assert tocsin("jobs", "create-many", "-", stdin=text).code == 2
