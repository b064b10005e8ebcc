from __future__ import annotations

from typing import Any

import pytest

from tocsin.domain.execution import ExecutionStatus

from .conftest import CommandLine


def triggered(tocsin: CommandLine) -> Any:  # noqa: ANN401 - a JSON object
    job = tocsin.create("--set", "max_retries=0")
    return tocsin("jobs", "trigger", job["id"], "--json").json


def test_executions_are_listed_by_job_status_and_origin(tocsin: CommandLine) -> None:
    execution = triggered(tocsin)
    listed = tocsin(
        *("executions", "list", "--job", "report", "--status", "pending", "--status", "running"),
        *("--origin", "manual", "--since", "2026-01-01T00:00:00Z", "--json"),
    ).json
    none = tocsin("executions", "list", "--until", "2025-01-01T00:00:00Z")

    assert [each["id"] for each in listed["items"]] == [execution["id"]]
    assert none.out == "no executions\n"


def test_an_execution_is_shown_with_its_error(tocsin: CommandLine) -> None:
    execution = triggered(tocsin)
    tocsin.run_pending(ExecutionStatus.FAILED)
    shown = tocsin("executions", "show", execution["id"])

    assert shown.code == 0
    assert "ValueError: broken" in shown.out
    assert "1.5 s" in shown.out


def test_past_attempts_are_shown(tocsin: CommandLine) -> None:
    job = tocsin.create("--set", "retry_delay_ms=0")
    execution = tocsin("jobs", "trigger", job["id"], "--json").json
    tocsin.run_pending(ExecutionStatus.FAILED)
    shown = tocsin("executions", "show", execution["id"])

    assert "past attempts" in shown.out
    assert "node-1" in shown.out


def test_logs_show_control_characters_instead_of_obeying_them(tocsin: CommandLine) -> None:
    execution = triggered(tocsin)
    tocsin.run_pending(ExecutionStatus.SUCCESS)
    shown = tocsin("executions", "logs", execution["id"])
    lines = tocsin("executions", "logs", execution["id"], "--json").json

    assert r"said \x1b[2Jhello size=3" in shown.out
    assert "\x1b" not in shown.out
    assert lines["items"][0]["message"] == "said \x1b[2Jhello"


def test_logs_say_how_to_go_on(tocsin: CommandLine) -> None:
    job = tocsin.create("--set", "retry_delay_ms=0")
    execution = tocsin("jobs", "trigger", job["id"], "--json").json
    tocsin.run_pending(ExecutionStatus.FAILED, ExecutionStatus.SUCCESS)
    first = tocsin("executions", "logs", execution["id"], "--limit", "1")
    last = tocsin("executions", "logs", execution["id"], "--limit", "1", "--after", "1")

    assert first.err == "1 of 2 lines; go on with --after 1\n"
    assert last.err == ""


def test_a_pending_execution_is_cancelled_once(tocsin: CommandLine) -> None:
    execution = triggered(tocsin)
    cancelled = tocsin("executions", "cancel", execution["id"], "--json")
    again = tocsin("executions", "cancel", execution["id"])

    assert cancelled.json["status"] == "cancelled"
    assert again.code == 5


def test_a_failed_execution_is_retried_as_a_new_one(tocsin: CommandLine) -> None:
    execution = triggered(tocsin)
    early = tocsin("executions", "retry", execution["id"])
    tocsin.run_pending(ExecutionStatus.FAILED)
    retried = tocsin("executions", "retry", execution["id"], "--json").json

    assert early.code == 5
    assert (retried["retry_of"], retried["origin"]) == (execution["id"], "retry")


@pytest.mark.parametrize("command", ["show", "logs", "cancel", "retry"])
@pytest.mark.parametrize("reference", ["019b76da-a800-7571-828f-1072bec44bc1", "no such execution", ""])
def test_an_execution_that_does_not_exist_is_not_found(tocsin: CommandLine, command: str, reference: str) -> None:
    ended = tocsin("executions", command, reference)

    assert (ended.code, ended.out) == (4, "")
    assert "EXECUTION_NOT_FOUND" in ended.err


@pytest.mark.parametrize(("option", "value"), [("--limit", "0"), ("--limit", "1001"), ("--after", "-1")])
def test_a_log_page_out_of_bounds_is_refused(tocsin: CommandLine, option: str, value: str) -> None:
    execution = triggered(tocsin)
    ended = tocsin("executions", "logs", execution["id"], option, value)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {option[2:]}: must be" in ended.err
