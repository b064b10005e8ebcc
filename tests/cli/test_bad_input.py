from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import CommandLine

UNKNOWN = "019b76da-a800-7571-828f-1072bec44bc1"
CREATE = ("jobs", "create", "--name", "x")
DAILY = (*CREATE, "--cron", "@daily")
SOUND = (*DAILY, "--handler", "tocsin.noop")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*CREATE, "--handler", "tocsin.noop"), "schedule: give exactly one of --cron, --every, --at and --on-demand"),
        ((*SOUND, "--every", "1h"), "schedule: give exactly one of --cron, --every, --at and --on-demand"),
        ((*SOUND, "--on-demand"), "schedule: give exactly one of --cron, --every, --at and --on-demand"),
        (DAILY, "handler_name: give exactly one of --handler, --url and --command"),
        ((*SOUND, "--url", "http://x"), "handler_name: give exactly one of"),
        ((*DAILY, "--command", "ls", "--payload", "{}"), "payload: goes with --handler"),
        ((*SOUND, "--method", "GET"), "payload: --method, --header, --body and --expect go with --url"),
        ((*DAILY, "--handler-type", "function"), "handler_name: is required"),
        ((*DAILY, "--handler-type", "agent"), "handler_type:"),
        ((*DAILY, "--url", "http://x", "--header", "nothing"), "payload.headers: 'nothing' is not a header"),
        ((*DAILY, "--url", ""), "payload.url:"),
        ((*DAILY, "--url", "http://127.0.0.1/", "--expect", "99"), "payload.expect"),
        ((*DAILY, "--handler", "unknown"), "handler_name: no handler is named 'unknown' (known: tocsin.health_check"),
        ((*SOUND, "--payload", "{"), "payload: must be JSON"),
        ((*SOUND, "--payload", "NaN"), "payload: must be JSON"),
        ((*SOUND, "--payload", "1e999"), "payload: must be JSON, or @FILE with JSON: a number is beyond"),
        ((*SOUND, "--payload", '{"a": 1, "a": 2}'), "payload: must be JSON, or @FILE with JSON: 'a' is given twice"),
        ((*SOUND, "--payload", "[" * 100_000), "payload: nests too deeply"),
        ((*SOUND, "--payload", "@no/such/file"), "payload: cannot read no/such/file"),
        ((*SOUND, "--set", "nonsense"), "nonsense: expected FIELD=VALUE"),
        ((*SOUND, "--set", "colour=red"), "colour: is not a field of a job; expected one of name, type"),
        ((*SOUND, "--set", "max_retries=many"), "max_retries: 'many' is not a whole number between 0 and 100"),
        ((*SOUND, "--set", "max_retries=101"), "max_retries: must be between 0 and 100"),
        ((*SOUND, "--set", "retry_jitter=lots"), "retry_jitter: 'lots' is not a number"),
        ((*SOUND, "--set", "retry_jitter=nan"), "retry_jitter: must be between 0 and 1"),
        ((*SOUND, "--set", "backoff=linear"), "backoff: 'linear' is none of exponential, fixed"),
        ((*SOUND, "--set", "max_retries=1", "--set", "max_retries=2"), "max_retries: is named twice"),
        ((*SOUND, "--priority", "1", "--set", "priority=2"), "priority: is given by an option and by --set"),
        ((*SOUND, "--set", "schedule=@hourly"), "schedule: has options of its own"),
        ((*SOUND, "--set", "metadata=[]"), "metadata: must be an object"),
        ((*SOUND, "--priority", "101"), "priority: must be between 0 and 100"),
        ((*SOUND, "--priority", "urgent"), "priority: 'urgent' is not a whole number between 0 and 100"),
        ((*SOUND, "--tag", "x" * 65), "tags: each must have between 1 and 64 characters"),
        ((*SOUND, "--key", "k" * 129), "key: must have between 1 and 128 characters"),
        ((*SOUND, "--max-executions", "0"), "max_executions: must be between 1 and 1000000000"),
        ((*SOUND, "--timezone", "Europe/Berln"), "timezone: no time zone is named 'Europe/Berln'; did you mean"),
        ((*SOUND, "--start", "tomorrow"), "start_date: 'tomorrow' is not an instant"),
        ((*SOUND, "--end", "2026-01-01"), "end_date: 2026-01-01T00:00:00 needs a UTC offset"),
        ((*SOUND, "--start", "2027-01-01T00Z", "--end", "2026-06-01T00Z"), "end_date: must not be before start_date"),
        ((*SOUND, "--name", ""), "name: must have between 1 and 255 characters"),
        ((*CREATE, "--handler", "tocsin.noop", "--cron", "0 25 * * *"), "schedule: hour '25' cannot be read"),
        ((*CREATE, "--handler", "tocsin.noop", "--cron", "0 0 30 2 *"), "schedule: "),
        ((*CREATE, "--handler", "tocsin.noop", "--every", "soon"), "schedule: 'soon' is not a length of time"),
        ((*CREATE, "--handler", "tocsin.noop", "--at", "soon"), "execute_at: 'soon' is not an instant"),
        ((*CREATE, "--handler", "tocsin.noop", "--at", "in a while"), "execute_at: 'a while' is not a length of time"),
        ((*CREATE, "--handler", "tocsin.noop", "--at", "2020-01-01T00:00:00Z"), "execute_at: 2020-01-01T00:00:00Z is"),
        ((*CREATE, "--handler", "tocsin.noop", "--at", "2026-03-01T08:00"), "execute_at: 2026-03-01T08:00:00 needs"),
        (
            (*CREATE, "--handler", "tocsin.noop", "--at", "2026-03-29T02:30", "--timezone", "Europe/Berlin"),
            "execute_at: 2026-03-29T02:30:00 does not exist in Europe/Berlin",
        ),
        ((*CREATE, "--handler", "tocsin.noop", "--at", "0001-01-01T00:00+23:00"), "execute_at: "),
    ],
)
def test_a_job_out_of_bounds_is_refused_naming_field_and_bound(
    tocsin: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    ended = tocsin(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err
    assert tocsin.jobs() == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "set: name a change"),
        (("--set", "max_retries=-1"), "max_retries: must be between 0 and 100"),
        (("--unset", "name"), "name: cannot be emptied; expected one of key, description"),
        (("--unset", "colour"), "colour: cannot be emptied"),
        (("--unset", "description", "--description", "new"), "description: is both set and emptied"),
        (("--set", "schedule=0 99 * * *"), "schedule: hour '99' cannot be read"),
        (("--set", "type=interval"), "schedule: '0 2 * * *' is no schedule for type interval"),
        (("--payload", "{"), "payload: must be JSON"),
    ],
)
def test_a_bad_update_leaves_the_job_as_it_was(tocsin: CommandLine, options: tuple[str, ...], expected: str) -> None:
    job = tocsin.create()
    ended = tocsin("jobs", "update", job["id"], *options)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err
    assert tocsin.jobs() == [job]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("jobs", "list", "--limit", "0"), "limit: must be between 1 and 250"),
        (("jobs", "list", "--limit", "251"), "limit: must be between 1 and 250"),
        (("jobs", "list", "--offset", "-1"), "offset: must be 0 or more"),
        (("jobs", "list", "--offset", "1", "--cursor", "x"), "cursor: cannot go with offset"),
        (("jobs", "list", "--cursor", "x"), "cursor: "),
        (("jobs", "list", "--due-before", "x"), "next_run_before: 'x' is not an instant"),
        (("executions", "list", "--limit", "251"), "limit: must be between 1 and 250"),
        (("executions", "list", "--since", "x"), "since: 'x' is not an instant"),
        (("executions", "list", "--cursor", "x"), "cursor: "),
        (("preview", "@daily", "--count", "0"), "count: must be between 1 and 1000"),
        (("preview", "@daily", "--count", "1001"), "count: must be between 1 and 1000"),
        (("preview", "@daily", "--after", "x"), "after: 'x' is not an instant"),
        (("preview", "@dayly"), "schedule: '@dayly' is not known"),
        (("preview", ""), "schedule: "),
        (("preview", "@daily", "--timezone", "Nowhere"), "timezone: no time zone is named 'Nowhere'"),
        (("import", "crontab", "no/such/file"), "file: cannot read no/such/file: No such file"),
        (("import", "crontab", "."), "file: cannot read .: Is a directory"),
        (("import", "crontab", "-", "--timezone", "Nowhere"), "timezone: no time zone is named 'Nowhere'"),
        (("jobs", "reschedule", UNKNOWN), "schedule: give exactly one of --cron, --every and --at"),
        (("executions", "logs", UNKNOWN, "--limit", "1001"), "limit: must be between 1 and 1000"),
        (("executions", "logs", UNKNOWN, "--after", "-1"), "after: must be 0 or more"),
        (("migrate", "down", "--steps", "0"), "steps: must be 1 or more"),
        (("--server", "localhost:8080", "health"), "server: must be an http or https URL"),
        (("health", "--server", "http://"), "server: must be an http or https URL"),
        (("health", "--server", "http://host:99999"), "server: must be an http or https URL"),
    ],
)
def test_bad_options_are_refused_naming_field_and_bound(
    tocsin: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    ended = tocsin(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err
    assert "INVALID_JOB" not in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("jobs", "nothing"),
        ("jobs", "show"),
        ("jobs", "list", "--status", "asleep"),
        ("jobs", "list", "--limit", "many"),
        ("jobs", "create"),
        ("jobs", "create", "--name", "x", "--on-conflict", "fight"),
        ("jobs", "create", "--name", "x", "--expect", "ok"),
        ("executions", "list", "--origin", "nowhere"),
        ("metrics", "--period", "2y"),
        ("preview",),
        ("import", "crontab"),
        ("serve", "--port", "http"),
        ("migrate", "down", "--steps", "all"),
        ("workers", "everything"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_a_usage_error(tocsin: CommandLine, arguments: tuple[str, ...]) -> None:
    ended = tocsin(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert "\nError: " in ended.err


def test_a_payload_file_must_be_text(tocsin: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"\xff\xfe")
    ended = tocsin(*SOUND, "--payload", f"@{tmp_path}/payload")

    assert ended.code == 2
    assert "is not UTF-8 text" in ended.err
