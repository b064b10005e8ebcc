from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console, RenderableType

from tocsin.adapters.cli.execution_views import execution_facts, executions_of_jobs
from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.stores import Page

from .conftest import CommandLine


def drawn(shown: RenderableType, width: int = 200) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(shown)
    return file.getvalue()


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


def test_an_execution_is_shown_with_its_progress_metadata_and_stack(tocsin: CommandLine) -> None:
    stored = asyncio.run(tocsin.storage.executions.get("default", UUID(triggered(tocsin)["id"])))
    shown = drawn(
        execution_facts(
            replace(
                stored,
                metadata={"progress": {"percent": 40.0, "message": "half\x1b[2J way"}, "shard": 7},
                error="broken",
                error_stack='Traceback:\n  File "x.py", line 1\nValueError: \x1b[2Jbroken\n',
            )
        )
    )

    assert r"40%, half\x1b[2J way" in shown
    assert '"shard": 7' in shown
    assert '"progress"' not in shown
    assert 'File "x.py", line 1' in shown
    assert r"ValueError: \x1b[2Jbroken" in shown


def test_an_execution_without_progress_has_no_row_for_it(tocsin: CommandLine) -> None:
    shown = tocsin("executions", "show", triggered(tocsin)["id"]).out

    assert not {"progress", "metadata", "stack"} & {line.partition(" ")[0] for line in shown.splitlines()}


def test_executions_of_all_jobs_are_listed_with_their_jobs(tocsin: CommandLine) -> None:
    gone = triggered(tocsin)["job_id"]
    tocsin("jobs", "delete", gone, "--yes")
    tocsin.create(name="backup")
    tocsin("jobs", "trigger", "backup")
    listed = tocsin("executions", "list").out
    own = tocsin("executions", "list", "--job", "backup").out

    assert "backup" in listed
    assert gone in listed
    assert "manual" in listed
    assert "backup" not in own


def test_a_list_across_jobs_fits_120_columns(tocsin: CommandLine) -> None:
    execution = asyncio.run(tocsin.storage.executions.get("default", UUID(triggered(tocsin)["id"])))
    failed = replace(execution, status=ExecutionStatus.FAILED, duration_ms=200_000, attempt=3, error="broken " * 9)
    page = Page(items=[failed], total=1, limit=50, offset=0, next_cursor=None)
    lines = drawn(executions_of_jobs(page, {failed.job_id: "a job with a long name"}), width=120).splitlines()

    assert str(execution.id) in lines[1]
    assert "3 min 20 s" in lines[1]
    assert all(len(line) <= 120 for line in lines)


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
    cancelled = tocsin("executions", "cancel", execution["id"], "--yes", "--json")
    again = tocsin("executions", "cancel", execution["id"], "--yes")

    assert cancelled.json["status"] == "cancelled"
    assert again.code == 5


def test_a_failed_execution_is_retried_as_a_new_one(tocsin: CommandLine) -> None:
    execution = triggered(tocsin)
    early = tocsin("executions", "retry", execution["id"])
    tocsin.run_pending(ExecutionStatus.FAILED)
    retried = tocsin("executions", "retry", execution["id"], "--json").json

    assert early.code == 5
    assert (retried["retry_of"], retried["origin"]) == (execution["id"], "retry")


@pytest.mark.parametrize("command", [("show",), ("logs",), ("cancel", "--yes"), ("retry",)])
@pytest.mark.parametrize("reference", ["019b76da-a800-7571-828f-1072bec44bc1", "no such execution", ""])
def test_an_execution_that_does_not_exist_is_not_found(
    tocsin: CommandLine, command: tuple[str, ...], reference: str
) -> None:
    name, *options = command
    ended = tocsin("executions", name, reference, *options)

    assert (ended.code, ended.out) == (4, "")
    assert "EXECUTION_NOT_FOUND" in ended.err


@pytest.mark.parametrize(("option", "value"), [("--limit", "0"), ("--limit", "1001"), ("--after", "-1")])
def test_a_log_page_out_of_bounds_is_refused(tocsin: CommandLine, option: str, value: str) -> None:
    execution = triggered(tocsin)
    ended = tocsin("executions", "logs", execution["id"], option, value)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {option[2:]}: must be" in ended.err
