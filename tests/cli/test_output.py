from __future__ import annotations

import csv
from io import StringIO

import pytest

from .conftest import CommandLine
from .test_following import position


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_a_list_is_written_as_rows_for_a_spreadsheet(tocsin: CommandLine) -> None:
    for name in ('with "quotes", and commas', "plain"):
        tocsin.create("--tag", "a", "--tag", "b", name=name)
    plain, quoted = rows(tocsin("jobs", "list", "-o", "csv").out)

    assert (plain["name"], quoted["name"]) == ("plain", 'with "quotes", and commas')
    assert (plain["tags"], plain["version"], plain["key"]) == ('["a", "b"]', "1", "")


def test_ids_alone_go_into_the_next_command(tocsin: CommandLine) -> None:
    ids = [tocsin.create(name=name)["id"] for name in ("a", "b")]
    listed = tocsin("jobs", "list", "--output", "ids", "--order", "asc", "--sort", "name")

    assert listed.out.split() == ids
    assert tocsin("jobs", "bulk", "pause", *listed.out.split(), "--yes", "-o", "ids").out.split() == ids


def test_one_answer_is_one_row_or_one_id(tocsin: CommandLine) -> None:
    made = tocsin.create()

    assert tocsin("jobs", "show", "report", "-o", "ids").out == f"{made['id']}\n"
    assert [row["id"] for row in rows(tocsin("jobs", "show", "report", "-o", "csv").out)] == [made["id"]]


def test_an_empty_list_is_no_line(tocsin: CommandLine) -> None:
    assert tocsin("jobs", "list", "-o", "ids").out == ""
    assert tocsin("jobs", "list", "-o", "csv").out == ""
    assert tocsin("jobs", "list", "-o", "json").json["items"] == []


def test_the_form_may_be_said_before_the_command(tocsin: CommandLine) -> None:
    made = tocsin.create()

    assert tocsin("--output", "ids", "jobs", "list").out == f"{made['id']}\n"
    assert tocsin("--output", "ids", "jobs", "list", "--json").json["total"] == 1
    assert tocsin("workers", "-o", "json").json == tocsin("-o", "json", "workers").json


@pytest.mark.parametrize(
    "arguments", [("jobs", "list", "--json", "-o", "csv"), ("--json", "-o", "ids", "jobs", "list")]
)
def test_two_forms_in_one_breath_are_refused(tocsin: CommandLine, arguments: tuple[str, ...]) -> None:
    ended = tocsin(*arguments)

    assert ended.code == 2
    assert "cannot go with --json; name one of the two" in ended.err


def test_what_bears_no_ids_says_so(tocsin: CommandLine) -> None:
    ended = tocsin("metrics", "-o", "ids")

    assert ended.code == 2
    assert "what this command answers bears no ids; choose json or csv" in ended.err


def test_facts_that_come_one_by_one_are_rows_under_one_heading(tocsin: CommandLine) -> None:

    since = position(tocsin)
    tocsin.create(name="a")
    tocsin.create(name="b")
    ended = tocsin("watch", "--after", since, "--count", "2", "-o", "csv")

    assert [row["name"] for row in rows(ended.out)] == ["tocsin.job.created", "tocsin.job.created"]


def test_what_never_bears_ids_says_so_before_it_acts(tocsin: CommandLine) -> None:
    ended = tocsin("events", "send", "--file", "-", "-o", "ids", stdin='{"name": "a"}\n')

    assert (ended.code, ended.out) == (2, "")
    assert tocsin("events", "list", "--json").json["total"] == 0


def test_a_record_without_an_id_is_no_line(tocsin: CommandLine) -> None:
    ended = tocsin("import", "crontab", "-", "-o", "ids", stdin="@daily sound\n@dayly broken\n")

    assert (ended.code, ended.err) == (6, "")
    assert ended.out.split() == [job["id"] for job in tocsin.jobs()]
