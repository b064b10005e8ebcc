from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.cli.conftest import CommandLine, Ran
from tocsin.adapters.cli.declarative.applying import Report, carry_out, plan
from tocsin.adapters.cli.declarative.entries import read_wishes
from tocsin.adapters.cli.declarative.files import read_source

FILE = """\
scope: shop
jobs:
  - key: report
    name: Nightly report
    schedule: "0 2 * * *"
    timezone: Europe/Berlin
    handler_name: tocsin.noop
    payload: {to: [a@example.com], kind: nightly}
    tags: [reports]
  - key: watch
    schedule: every 15m
    handler_type: http
    payload: {method: GET, url: "https://example.com/health"}
event_handlers:
  - key: on-order
    event: order.*
    filter: event.data.total > 100
    action: {type: run_job, job: report}
"""


class Files:
    """One file that is edited and applied again."""

    def __init__(self, tocsin: CommandLine, folder: Path) -> None:
        self.tocsin = tocsin
        self.file = folder / "jobs.yaml"
        self.file.write_text(FILE)

    def edit(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def apply(self, *options: str) -> Ran:
        return self.tocsin("apply", "-f", str(self.file), *options)

    def fates(self, *options: str) -> dict[str, str]:
        return {line["key"]: line["fate"] for line in self.lines(*options)}

    def lines(self, *options: str) -> list[dict[str, Any]]:
        ran = self.apply(*options, "--json")
        lines: list[dict[str, Any]] = ran.json["lines"]
        return lines

    def job(self, key: str) -> Any:  # noqa: ANN401 - a JSON object
        return next(job for job in self.tocsin.jobs() if job["key"] == key)


@pytest.fixture
def files(tocsin: CommandLine, tmp_path: Path) -> Files:
    return Files(tocsin, tmp_path)


def test_what_a_file_declares_is_made(files: Files, tocsin: CommandLine) -> None:
    ran = files.apply()

    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1] == "Scope shop: 3 created"
    report = files.job("report")
    assert (report["name"], report["timezone"], report["type"]) == ("Nightly report", "Europe/Berlin", "cron")
    assert files.job("watch")["handler_name"] == "http"
    [handler] = tocsin("events", "handlers", "list", "--json").json["items"]
    assert (handler["key"], handler["action"]["job_id"]) == ("on-order", report["id"])


def test_a_second_time_changes_nothing(files: Files) -> None:
    files.apply()
    before = files.job("report")

    ran = files.apply()

    assert (ran.code, ran.out) == (0, "Scope shop: 3 as declared\n")
    assert files.job("report") == before


def test_a_dry_run_tells_by_its_exit_code_whether_anything_would_change(files: Files, tocsin: CommandLine) -> None:
    ran = files.apply("--dry-run")
    assert ran.code == 7
    assert "Scope shop: 3 to create; nothing was changed" in ran.out
    assert tocsin.jobs() == []

    files.apply()

    assert files.apply("--dry-run").code == 0


def test_a_change_is_told_field_by_field(files: Files) -> None:
    files.apply()
    files.edit("every 15m", "every 20m")
    files.edit("/health", "/ready")

    ran = files.apply()

    assert "~ change  job watch  " in ran.out
    assert "    schedule     every 15m → every 20m\n" in ran.out
    assert "    payload.url  https://example.com/health → https://example.com/ready\n" in ran.out
    assert ran.out.endswith("Scope shop: 1 changed, 2 as declared\n")
    assert files.job("watch")["schedule"] == "every 20m"


def test_a_plan_tells_that_a_secret_changes_but_not_what_it_is(files: Files) -> None:
    files.edit("GET,", "GET, headers: {Authorization: Bearer first, Accept: text/plain},")
    files.edit("kind: nightly", "hooks: [{token: first}, {}]")
    files.apply()
    files.edit("Bearer first, Accept: text/plain", "Bearer second, X-Api-Key: second")
    files.edit("hooks: [{token: first}, {}]", "hooks: [{token: second}, {token: third}]")

    told = [files.apply("--dry-run", "--json").out, files.apply().out]

    assert "payload.headers.Authorization  *** → *** (another)\n" in told[1]
    assert "payload.headers.Accept         text/plain → -\n" in told[1]
    assert "payload.headers.X-Api-Key      - → ***\n" in told[1]
    assert 'payload.hooks  [{"token": "***"}, {}] → [{"token": "*** (another)"}, {"token": "***"}]\n' in told[1]
    assert not [word for word in ("first", "second", "third") for each in told if word in each]


def test_an_event_handler_follows_its_job_to_the_one_that_was_made_after_it_was_cancelled(
    files: Files, tocsin: CommandLine
) -> None:
    files.apply()
    cancelled = files.job("report")["id"]
    assert tocsin("jobs", "cancel", "report", "--yes").code == 0

    assert files.fates() == {"report": "create", "watch": "keep", "on-order": "change"}

    [handler] = tocsin("events", "handlers", "list", "--json").json["items"]
    standing = [job["id"] for job in tocsin.jobs() if job["key"] == "report" and job["id"] != cancelled]
    assert [handler["action"]["job_id"]] == standing
    assert set(files.fates().values()) == {"keep"}


def test_a_field_that_the_file_leaves_out_has_its_default_again(files: Files, tocsin: CommandLine) -> None:
    files.edit("    tags: [reports]\n", "    tags: [reports]\n    priority: high\n")
    files.apply()
    tocsin("jobs", "update", "report", "--set", "max_retries=9")
    files.edit("    priority: high\n", "")

    [change] = [line for line in files.lines() if line["key"] == "report"]

    told = {each["field"]: (each["before"], each["after"]) for each in change["changes"]}
    assert told == {"priority": (75, 50), "max_retries": (9, 3)}


def test_what_is_paused_stays_paused_unless_the_file_says_otherwise(files: Files, tocsin: CommandLine) -> None:
    files.apply()
    tocsin("jobs", "pause", "watch")
    files.edit("every 15m", "every 20m")

    assert files.fates()["watch"] == "change"
    assert files.job("watch")["status"] == "paused"

    files.edit("  - key: watch\n", "  - key: watch\n    enabled: true\n")
    assert files.fates()["watch"] == "change"
    assert files.job("watch")["status"] == "active"

    files.edit("enabled: true", "enabled: false")
    files.apply()
    assert files.job("watch")["status"] == "paused"
    assert files.fates()["watch"] == "keep"


def test_a_job_that_is_made_paused_does_not_fire_first(files: Files) -> None:
    files.edit("  - key: watch\n", "  - key: watch\n    enabled: false\n")
    files.apply()

    assert (files.job("watch")["status"], files.job("watch")["version"]) == ("paused", 1)


def test_what_is_gone_from_the_file_goes_on_until_it_is_pruned(files: Files, tocsin: CommandLine) -> None:
    files.apply()
    tocsin.create("--key", "by-hand")
    files.file.write_text(FILE[: FILE.index("  - key: watch")] + FILE[FILE.index("event_handlers") :])

    assert files.fates() == {"report": "keep", "on-order": "keep", "watch": "left_over"}
    ran = files.apply("--prune", "--yes")

    assert "- prune  job watch" in ran.out
    assert {job["key"] for job in tocsin.jobs()} == {"report", "by-hand"}
    assert files.apply("--prune", "--dry-run").code == 0


def test_what_is_pruned_has_to_be_confirmed_where_nobody_can_be_asked(files: Files, tocsin: CommandLine) -> None:
    files.apply()
    files.file.write_text(FILE[: FILE.index("  - key: watch")])

    ran = files.apply("--prune")

    assert ran.code == 2
    assert "Give --yes if so" in ran.err
    assert len(tocsin.jobs()) == 2


def test_a_file_that_was_emptied_does_not_delete_everything(files: Files, tocsin: CommandLine) -> None:
    files.apply()
    files.file.write_text("scope: shop\n")

    refused = files.apply("--prune", "--yes")

    assert refused.code == 2
    assert "this deletes all 2 that scope shop made; give --prune-all if so" in refused.err
    assert len(tocsin.jobs()) == 2

    assert files.apply("--prune", "--yes", "--prune-all").code == 0
    assert tocsin.jobs() == []


def test_another_scope_is_neither_changed_nor_pruned(files: Files, tocsin: CommandLine) -> None:
    files.apply()
    other = FILE[: FILE.index("  - key: watch")].replace("scope: shop", "scope: bills").replace("0 2", "0 3")
    files.file.write_text(other)

    ran = files.apply("--prune", "--yes")

    assert ran.code == 5
    assert "belongs to scope shop, and differs; --adopt takes it over" in ran.out
    assert ran.out.endswith("Scope bills: 1 in conflict; nothing was changed\n")
    assert files.job("report")["schedule"] == "0 2 * * *"

    assert files.apply("--adopt").code == 0
    assert files.job("report")["schedule"] == "0 3 * * *"
    assert {job["key"] for job in tocsin.jobs()} == {"report", "watch"}


def test_a_job_made_by_hand_is_changed_but_never_pruned(files: Files, tocsin: CommandLine) -> None:
    made = tocsin.create("--key", "report")
    assert files.fates()["report"] == "change"
    assert files.job("report")["id"] == made["id"]
    jobs, _ = FILE.split("event_handlers")
    files.file.write_text(jobs[: jobs.index("  - key: report")] + jobs[jobs.index("  - key: watch") :])

    assert files.fates("--prune", "--yes") == {"watch": "keep"}
    assert {job["key"] for job in tocsin.jobs()} == {"report", "watch"}


def test_a_job_that_changed_since_the_plan_is_not_overwritten(files: Files, tocsin: CommandLine) -> None:
    files.apply()
    files.edit("every 15m", "every 20m")
    wishes = read_wishes([read_source(str(files.file))], scope=None, check=lambda _: None)
    watch_id = UUID(files.job("watch")["id"])

    async def race() -> Report:
        async with tocsin.connect("") as scheduler:
            planned = await plan(scheduler, wishes, prune=False, adopt=False)
            await scheduler.update_job(watch_id, priority=90)
            return await carry_out(scheduler, planned, allow_unknown_handler=False)

    [failed] = asyncio.run(race()).failed

    told = "it changed meanwhile (expected version 1, but it is at version 2); apply again"
    assert (failed.key, failed.error) == ("watch", told)
    assert (files.job("watch")["schedule"], files.job("watch")["priority"]) == ("every 15m", 90)


def test_every_fault_is_told_with_its_file_its_line_and_its_field_before_anything_is_written(
    files: Files, tocsin: CommandLine
) -> None:
    files.file.write_text("""\
jobs:
  - key: one
    schedul: every 15m
  - key: two
    schedule: "0 2 * * *"
    handler_name: tocsin.noop
    timeout_ms: 5
    tags: a
  - name: nameless
    schedule: every 15m
    handler_name: tocsin.noop
  - key: three
    schedule: "61 * * * *"
    handler_name: tocsin.noop
  - key: four
    schedule: every 15m
  - key: two
    schedule: every 15m
    handler_name: tocsin.noop
  - key: five
    schedule: every 15m
    timezone: Mars/Base
    handler_name: tocsin.noop
    metadata: {declared: {scope: other}}
  - key: six
    execute_at: 2030-01-01
    handler_name: tocsin.noop
    priority: true
  - just a text
event_handlers:
  - key: on
    event: a.b
    action: {type: publish, nam: x}
  - key: off
    event: "a b"
    action: {type: publish, name: x}
""")

    ran = files.apply()

    assert ran.code == 2
    told = [line.strip().removeprefix(f"{files.file.parent}/") for line in ran.err.splitlines()[1:]]
    places = [line.split(": ")[:2] for line in told]
    assert places == [
        ["jobs.yaml:3", "jobs[0].schedul"],
        ["jobs.yaml:2", "jobs[0].handler_name"],
        ["jobs.yaml:7", "jobs[1].timeout_ms"],
        ["jobs.yaml:8", "jobs[1].tags"],
        ["jobs.yaml:9", "jobs[2].key"],
        ["jobs.yaml:13", "jobs[3].schedule"],
        ["jobs.yaml:15", "jobs[4].handler_name"],
        ["jobs.yaml:24", "jobs[6].metadata.declared"],
        ["jobs.yaml:28", "jobs[7].priority"],
        ["jobs.yaml:29", "jobs[8]"],
        ["jobs.yaml:33", "event_handlers[0].action.nam"],
        ["jobs.yaml:35", "event_handlers[1].event"],
    ]
    assert "did you mean schedule?" in told[0]
    assert tocsin.jobs() == []


def test_a_key_that_is_declared_twice_is_told_with_both_places(files: Files, tmp_path: Path) -> None:
    other = tmp_path / "more.toml"
    other.write_text('[[jobs]]\nkey = "report"\nschedule = "every 1h"\nhandler_name = "tocsin.noop"\n')

    ran = files.tocsin("apply", "-f", str(files.file), "-f", str(other))

    assert ran.code == 2
    assert f"{other}:2: jobs[0].key: 'report' is declared already, at {files.file}:3" in ran.err


def test_files_of_two_scopes_are_not_applied_as_one(files: Files) -> None:
    ran = files.apply("--scope", "bills")

    assert ran.code == 2
    assert "jobs.yaml:1: scope: is 'shop', but what goes with it is 'bills' (the option --scope)" in ran.err


def test_what_the_scheduler_refuses_does_not_hinder_the_rest(files: Files, tocsin: CommandLine) -> None:
    files.edit("handler_name: tocsin.noop", "handler_name: nobody.has.it")

    ran = files.apply()

    assert ran.code == 6
    assert "! job report" in ran.out
    assert "jobs.yaml:3): handler_name: no handler is named 'nobody.has.it'" in ran.out
    assert "! event handler on-order" in ran.out
    assert ran.out.endswith("Scope shop: 1 created, 2 failed\n")
    assert [job["key"] for job in tocsin.jobs()] == ["watch"]

    assert files.apply("--allow-unknown-handler").code == 0


def test_a_handler_that_is_renamed_stays_the_same_job(files: Files) -> None:
    files.apply()
    before = files.job("report")["id"]
    files.edit("handler_name: tocsin.noop", "handler_name: tocsin.health_check")

    assert files.fates()["report"] == "change"
    assert (files.job("report")["id"], files.job("report")["handler_name"]) == (before, "tocsin.health_check")


def test_stdin_is_read_as_yaml_or_json(tocsin: CommandLine) -> None:
    job = {"key": "a", "schedule": "every 15m", "handler_name": "tocsin.noop"}

    assert tocsin("apply", "-f", "-", stdin=json.dumps({"jobs": [job]})).code == 0
    assert tocsin("apply", "-f", "-", "--dry-run", stdin=f"jobs: [{json.dumps(job)}]").code == 0


def test_the_option_that_names_the_file_is_required(tocsin: CommandLine) -> None:
    assert tocsin("apply").code == 2
    assert tocsin("apply", "-f", "no-such-file.yaml").err.endswith(
        "  file: cannot read no-such-file.yaml: No such file or directory\n"
    )


def test_a_type_of_handler_that_is_a_list_is_told(files: Files) -> None:
    files.file.write_text("jobs: [{key: a, schedule: '@daily', handler_type: [http]}]")
    ran = files.apply()

    assert ran.code == 2
    assert "jobs[0].handler_name: is required" in ran.err


MERGED = """
jobs:
  - &base
    key: a
    schedule: "@daily"
    handler_name: tocsin.noop
    timeout_ms: 5000
  - <<: *base
    key: b
    timeout_ms: 1
"""


def test_a_fault_is_told_at_the_line_that_wins_over_what_is_merged(files: Files) -> None:
    files.file.write_text(MERGED)
    ran = files.apply()

    assert ran.code == 2
    assert "jobs.yaml:10: jobs[1].timeout_ms" in ran.err


def test_machines_are_asked_with_the_plan_in_sight_too(files: Files) -> None:
    files.apply()
    files.edit("key: watch", "key: poll")
    ran = files.apply("--prune", "--json")

    assert (ran.code, ran.out) == (2, "")
    assert "watch" in ran.err
