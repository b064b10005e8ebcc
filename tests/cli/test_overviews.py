from __future__ import annotations

from tocsin.domain.execution import ExecutionStatus

from .conftest import CommandLine


def ran(tocsin: CommandLine) -> None:
    """Leave a failure, and a success after it."""
    tocsin.create("--set", "max_retries=0", name="report")
    for status in (ExecutionStatus.FAILED, ExecutionStatus.SUCCESS):
        tocsin("jobs", "trigger", "report")
        tocsin.run_pending(status)


def test_jobs_are_listed_and_shown_with_a_strip_of_their_outcomes(tocsin: CommandLine) -> None:
    ran(tocsin)
    listed, shown = tocsin("jobs", "list").out, tocsin("jobs", "show", "report").out

    assert " \N{MULTIPLICATION X}\N{BLACK SQUARE} " in listed
    assert "\N{BLACK SQUARE} success" in shown


def test_a_strip_is_coloured_where_somebody_looks_on_unless_that_is_not_wanted(tocsin: CommandLine) -> None:
    ran(tocsin)

    assert "\x1b[31m" in tocsin("jobs", "list", FORCE_COLOR="1", TERM="xterm").out
    assert "\x1b[31m" not in tocsin("jobs", "list", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1").out


def test_what_is_to_fire_is_listed_in_order(tocsin: CommandLine) -> None:
    for name, at in (("late", "30 0 * * *"), ("often", "*/20 * * * *")):
        tocsin.create(name=name, at=at)
    ended = tocsin("jobs", "upcoming", "--within", "50m", "--json")
    said = tocsin("jobs", "upcoming", "--within", "50m", "--limit", "1")

    assert [each["name"] for each in ended.json["items"]] == ["often", "late", "often"]
    assert ended.json["truncated"] is False
    assert "there are more" in said.out


def test_a_month_of_a_job_shows_what_came_and_what_is_to_come(tocsin: CommandLine) -> None:
    ran(tocsin)
    ended = tocsin("jobs", "calendar", "report", "--json")
    grid = tocsin("jobs", "calendar", "report", "--month", "2026-02", "--timezone", "Asia/Tokyo").out

    assert (ended.json["month"], ended.json["days"][0]["outcomes"]) == ("2026-01", {"failed": 1, "success": 1})
    assert "2026-02 (Asia/Tokyo)" in grid
    assert grid.count("+ 1 ") == 28


def test_what_ran_over_time_is_drawn_as_lines(tocsin: CommandLine) -> None:
    ran(tocsin)
    ended = tocsin("series", "--period", "1h", "--json")
    drawn = tocsin("series", "--period", "1h").out

    assert sum(each["failed"] for each in ended.json["items"]) == 1
    assert [line.split()[0] for line in drawn.splitlines()[:3]] == ["started", "completed", "failed"]
    assert "2, at most" in drawn
