from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import pytest

from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.event_requests import FeedItem

from .conftest import SERVER, CommandLine

UNKNOWN = "019b76da-a800-7571-828f-1072bec44bc1"


def position(tocsin: CommandLine) -> str:
    """Tell where the facts stand, which are kept from now on."""

    async def ask() -> str:
        async with tocsin.connect(SERVER) as scheduler:
            items = cast("AsyncGenerator[FeedItem]", scheduler.watch())
            async with aclosing(items):
                return (await anext(items)).position

    return asyncio.run(ask())


def ran(tocsin: CommandLine, status: ExecutionStatus) -> Any:  # noqa: ANN401 - a JSON object
    job = tocsin.create("--set", "max_retries=0")
    execution = tocsin("jobs", "trigger", job["id"], "--json").json
    tocsin.run_pending(status)
    return execution


def test_facts_are_told_one_by_one_as_they_come(tocsin: CommandLine) -> None:
    since = position(tocsin)
    execution = ran(tocsin, ExecutionStatus.FAILED)
    watched = tocsin("watch", "--after", since, "--count", "4")
    told = [line.split()[1:3] for line in watched.out.splitlines()]

    assert watched.code == 0
    assert told == [
        ["job.created", "report"],
        ["execution.created", "report"],
        ["execution.started", "report"],
        ["execution.failed", "report"],
    ]
    assert f"execution/{execution['id']}  broken" in watched.out


def test_facts_are_objects_of_one_line_each_as_json(tocsin: CommandLine) -> None:
    since = position(tocsin)
    ran(tocsin, ExecutionStatus.SUCCESS)
    watched = tocsin("watch", "--json", "--after", since, "--count", "3")
    facts = [json.loads(line) for line in watched.out.splitlines()]
    rest = tocsin("watch", "--json", "--after", facts[-1]["position"], "--count", "1")

    assert [fact["name"] for fact in facts][-1] == "tocsin.execution.started"
    assert facts[-1]["data"]["job_name"] == "report"
    assert rest.json["name"] == "tocsin.execution.succeeded"


@pytest.mark.parametrize("pattern", ["execution.succeeded", "tocsin.execution.succeeded", "*.succeeded"])
def test_only_the_facts_of_a_pattern_are_told(tocsin: CommandLine, pattern: str) -> None:
    since = position(tocsin)
    ran(tocsin, ExecutionStatus.SUCCESS)
    watched = tocsin("watch", "--after", since, "--names", pattern, "--count", "1")

    assert [line.split()[1] for line in watched.out.splitlines()] == ["execution.succeeded"]


def test_names_in_facts_are_shown_and_never_obeyed(tocsin: CommandLine) -> None:
    since = position(tocsin)
    tocsin.create(name="\x1b[2Jreport")
    watched = tocsin("watch", "--after", since, "--count", "1")

    assert r"\x1b[2Jreport" in watched.out
    assert "\x1b" not in watched.out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--names", "a b"), "names: 'a b' is not a pattern; expected one such as job.*"),
        (("--count", "0"), "count: must be 1 or more"),
        (("--after", "nowhere"), "position: "),
    ],
)
def test_a_bad_watch_is_refused_naming_the_field(tocsin: CommandLine, options: tuple[str, ...], expected: str) -> None:
    ended = tocsin("watch", *options)

    assert (ended.code, ended.out) == (2, "")
    assert f"\n  {expected}" in ended.err


def test_a_log_is_followed_to_the_end_of_its_execution(tocsin: CommandLine) -> None:
    execution = ran(tocsin, ExecutionStatus.SUCCESS)
    followed = tocsin("executions", "logs", "--follow", execution["id"])
    passed = tocsin("executions", "logs", "-f", execution["id"], "--after", "1", "--json")

    assert (followed.code, followed.err) == (0, "success after 1.5 s\n")
    assert r"said \x1b[2Jhello size=3" in followed.out
    assert (passed.code, passed.out, passed.err) == (0, "", "")


def test_a_followed_log_is_json_lines(tocsin: CommandLine) -> None:
    execution = ran(tocsin, ExecutionStatus.SUCCESS)
    followed = tocsin("executions", "logs", "--follow", execution["id"], "--json")

    assert [json.loads(line)["message"] for line in followed.out.splitlines()] == ["said \x1b[2Jhello"]


def test_following_a_failure_ends_with_1(tocsin: CommandLine) -> None:
    execution = ran(tocsin, ExecutionStatus.FAILED)
    followed = tocsin("executions", "logs", "--follow", execution["id"])

    assert (followed.code, followed.err) == (1, "failed after 1.5 s: broken\n")


def test_following_a_cancelled_execution_ends_with_1(tocsin: CommandLine) -> None:
    job = tocsin.create()
    execution = tocsin("jobs", "trigger", job["id"], "--json").json
    tocsin("executions", "cancel", execution["id"], "--yes")
    followed = tocsin("executions", "logs", "--follow", execution["id"])

    assert (followed.code, followed.out, followed.err) == (1, "", "cancelled\n")


@pytest.mark.parametrize("reference", [UNKNOWN, "no such execution"])
def test_an_execution_that_does_not_exist_cannot_be_followed(tocsin: CommandLine, reference: str) -> None:
    followed = tocsin("executions", "logs", "--follow", reference)

    assert (followed.code, followed.out) == (4, "")
    assert "EXECUTION_NOT_FOUND" in followed.err


def test_following_takes_no_limit(tocsin: CommandLine) -> None:
    ended = tocsin("executions", "logs", "--follow", UNKNOWN, "--limit", "5")

    assert ended.code == 2
    assert "limit: does not go with --follow" in ended.err
