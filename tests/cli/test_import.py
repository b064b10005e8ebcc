from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import CommandLine

DATA = Path(__file__).parent / "data"
TWO_LINES = "0 2 * * * backup --all\n*/5 * * * * poll\n"


def test_a_real_crontab_is_imported_line_by_line(tocsin: CommandLine) -> None:
    ended = tocsin("import", "crontab", str(DATA / "user.crontab"), "--json")
    lines = ended.json["lines"]
    jobs = tocsin.jobs()

    assert ended.code == 6
    assert len(jobs) >= 40
    assert {line["fate"] for line in lines} == {"new", "refused"}
    assert {line["job_id"] for line in lines if line["fate"] == "new"} == {job["id"] for job in jobs}
    assert all(job["tags"] == ["crontab"] and job["handler_type"] == "command" for job in jobs)


def test_importing_twice_changes_nothing(tocsin: CommandLine) -> None:
    first = tocsin("import", "crontab", str(DATA / "user.crontab"))
    before = tocsin.jobs()
    second = tocsin("import", "crontab", str(DATA / "user.crontab"), "--json")

    assert first.code == second.code
    assert {line["fate"] for line in second.json["lines"]} == {"unchanged", "refused"}
    assert tocsin.jobs() == before


def test_every_refused_line_is_listed_with_its_reason(tocsin: CommandLine) -> None:
    ended = tocsin("import", "crontab", "-", stdin=f"@reboot tunnel\n{TWO_LINES}61 * * * * never\n")

    assert ended.code == 6
    assert "@reboot tunnel" in ended.out
    assert "@reboot names no time" in ended.out
    assert "61 * * * * never" in ended.out
    assert "2 new, 0 changed, 0 unchanged, 2 refused" in ended.out


def test_a_file_without_refusals_exits_with_0(tocsin: CommandLine) -> None:
    assert tocsin("import", "crontab", "-", stdin=TWO_LINES).code == 0
    assert tocsin("import", "crontab", "-", stdin="").code == 0


def test_only_what_was_edited_is_written(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    ended = tocsin("import", "crontab", "-", "--json", stdin=TWO_LINES.replace("0 2", "30 3"))
    versions = {job["name"]: (job["schedule"], job["version"]) for job in tocsin.jobs()}

    assert [line["fate"] for line in ended.json["lines"]] == ["changed", "unchanged"]
    assert versions == {"backup --all": ("30 3 * * *", 2), "poll": ("*/5 * * * *", 1)}


def test_a_paused_job_stays_paused(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    tocsin("jobs", "pause", "poll")
    tocsin("import", "crontab", "-", stdin=TWO_LINES.replace("*/5", "*/7"))

    assert tocsin("jobs", "show", "poll", "--json").json["status"] == "paused"


def test_a_cancelled_job_is_made_anew(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    tocsin("jobs", "cancel", "poll", "--yes")
    ended = tocsin("import", "crontab", "-", "--json", stdin=TWO_LINES)

    assert [line["fate"] for line in ended.json["lines"]] == ["unchanged", "new"]


def test_a_dry_run_shows_the_next_fires_and_writes_nothing(tocsin: CommandLine) -> None:
    ended = tocsin("import", "crontab", "-", "--dry-run", "--timezone", "Asia/Kolkata", stdin="0 0 1 1 * new-year\n")

    assert ended.code == 0
    assert "-01-01 00:00, " in ended.out
    assert "nothing was changed (--dry-run)" in ended.out
    assert tocsin.jobs() == []


def test_a_dry_run_tells_what_would_change(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    before = tocsin.jobs()
    ended = tocsin("import", "crontab", "-", "--dry-run", "--json", stdin=TWO_LINES.replace("0 2", "30 3"))

    assert [line["fate"] for line in ended.json["lines"]] == ["changed", "unchanged"]
    assert tocsin.jobs() == before


def test_a_dry_run_works_without_a_server(tocsin: CommandLine) -> None:
    tocsin.reachable = False
    ended = tocsin("import", "crontab", "-", "--dry-run", stdin=TWO_LINES)

    assert ended.code == 0
    assert "every line is shown as if it were new" in ended.err


def test_the_zone_holds_where_the_file_names_none(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", "--timezone", "Europe/Berlin", stdin=f"{TWO_LINES}CRON_TZ=Asia/Tokyo\n@daily x\n")

    assert {job["name"]: job["timezone"] for job in tocsin.jobs()} == {
        "backup --all": "Europe/Berlin",
        "poll": "Europe/Berlin",
        "x": "Asia/Tokyo",
    }


def test_the_system_format_names_a_user(tocsin: CommandLine) -> None:
    ended = tocsin("import", "crontab", "-", "--system", stdin="0 2 * * * root backup\n")

    assert [job["name"] for job in tocsin.jobs()] == ["backup"]
    assert "line 1: runs as the user of the service, not as root" in ended.out


def test_a_scope_keeps_the_crontabs_of_two_people_apart(tocsin: CommandLine) -> None:
    for person in ("ada", "ben", "ada"):
        tocsin("import", "crontab", "-", "--scope", person, stdin="0 2 * * * backup\n")

    assert len(tocsin.jobs()) == 2


def test_a_node_that_allows_no_commands_says_so_and_nothing_is_written(tocsin: CommandLine) -> None:
    tocsin.commands_allowed = False
    ended = tocsin("import", "crontab", "-", stdin=TWO_LINES)

    assert (ended.code, ended.out) == (2, "")
    assert "no live node allows commands; the setting TOCSIN_ALLOW_COMMANDS=true allows them" in ended.err
    assert tocsin.jobs() == []


def test_a_line_that_the_scheduler_refuses_does_not_hinder_the_rest(tocsin: CommandLine) -> None:
    too_long = "y" * 300_000
    ended = tocsin("import", "crontab", "-", "--json", stdin=f"@daily x {too_long}\n{TWO_LINES}")
    fates = [line["fate"] for line in ended.json["lines"]]

    assert (ended.code, fates) == (6, ["refused", "new", "new"])
    assert "payload" in ended.json["lines"][0]["reason"]


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"\x00", b"0 2 * * * \xff\n", bytes(range(256))])
def test_a_file_of_any_bytes_is_answered_without_a_traceback(tocsin: CommandLine, raw: bytes) -> None:
    for options in ((), ("--json",), ("--dry-run",), ("--system",)):
        assert tocsin("import", "crontab", "-", *options, stdin=raw).code in {0, 6}


def test_a_file_larger_than_any_crontab_is_refused(tocsin: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "huge").write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    ended = tocsin("import", "crontab", str(tmp_path / "huge"))

    assert ended.code == 2
    assert "is larger than 4194304 bytes" in ended.err


def statuses(tocsin: CommandLine) -> dict[str, str]:
    return {job["name"]: job["status"] for job in tocsin.jobs()}


def test_jobs_that_the_file_no_longer_has_are_told_and_go_on(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    edited = TWO_LINES.replace("backup --all", "backup --some")
    for options in (("--dry-run",), (), ("--dry-run", "--prune")):
        ended = tocsin("import", "crontab", "-", *options, stdin=edited)

        assert ended.code == 0
        assert "left over" in ended.out
        assert "0 2 * * * backup --all" in ended.out
        assert "1 left over" in ended.out
        assert "Warning: 1 job goes on that the file no longer has" in ended.err
    lines = tocsin("import", "crontab", "-", "--json", stdin=edited).json["lines"]

    assert [(line["line"], line["fate"]) for line in lines] == [(1, "unchanged"), (2, "unchanged"), (None, "left_over")]
    assert statuses(tocsin) == {"backup --all": "active", "backup --some": "active", "poll": "active"}


def test_pruning_cancels_what_the_file_no_longer_has_and_nothing_else(tocsin: CommandLine) -> None:
    other = tocsin.create("--tag", "crontab", name="mine")
    tocsin("import", "crontab", "-", "--scope", "ben", stdin=TWO_LINES.replace("backup", "bens"))
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    tocsin("jobs", "pause", "poll")
    ended = tocsin(
        "import", "crontab", "-", "--prune", "--prune-all", "--yes", "--json", stdin="0 2 * * * backup --some\n"
    )
    again = tocsin("import", "crontab", "-", "--prune", stdin="0 2 * * * backup --some\n")
    jobs = tocsin("jobs", "list", "--status", "active", "--json").json["items"]

    assert [line["fate"] for line in ended.json["lines"]] == ["new", "cancelled", "cancelled"]
    assert {job["name"] for job in jobs} == {other["name"], "bens --all", "poll", "backup --some"}
    assert (again.code, again.err) == (0, "")


def test_more_jobs_than_a_page_holds_are_left_over(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin="".join(f"@daily job {number}\n" for number in range(260)))
    ended = tocsin("import", "crontab", "-", "--prune", "--prune-all", "--yes", stdin="")

    assert "260 cancelled" in ended.out
    assert tocsin("jobs", "list", "--status", "active", "--json").json["total"] == 0


def test_an_empty_file_cancels_nothing_unless_that_is_said(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    ended = tocsin("import", "crontab", "-", "--prune", "--yes", stdin="")

    assert (ended.code, ended.out) == (2, "")
    assert "prune_all: this cancels all 2 that imports of this scope made; give --prune-all if so" in ended.err
    assert set(statuses(tocsin).values()) == {"active"}


def test_pruning_asks_before_anything_is_written(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    before = tocsin.jobs()
    ended = tocsin("import", "crontab", "-", "--prune", stdin="@daily new\n")

    assert (ended.code, ended.out) == (2, "")
    assert "Cancel 2 jobs that the file no longer has (backup --all, poll)? Give --yes" in ended.err
    assert tocsin.jobs() == before


def test_the_job_of_a_line_that_was_broken_is_not_pruned(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", stdin=rf"{TWO_LINES}@daily date +\%F")
    broken = TWO_LINES.replace("0 2", "0 25") + r"@dayly date +\%F"
    ended = tocsin("import", "crontab", "-", "--prune", "--yes", stdin=broken)

    assert ended.code == 6
    assert "may be line 1, which was refused; it goes on" in ended.out
    assert "may be line 3, which was refused; it goes on" in ended.out
    assert set(statuses(tocsin).values()) == {"active"}


def test_neither_file_nor_line_makes_a_change(tocsin: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "crontab").write_text(f"# moved\n\n{TWO_LINES}", "utf-8")
    tocsin("import", "crontab", "-", stdin=TWO_LINES)
    ended = tocsin("import", "crontab", str(tmp_path / "crontab"), "--json")

    assert {line["fate"] for line in ended.json["lines"]} == {"unchanged"}


def test_a_job_knows_its_scope_and_its_user(tocsin: CommandLine) -> None:
    tocsin("import", "crontab", "-", "--system", "--scope", "web-1", stdin="0 2 * * * root backup\n")

    assert [job["metadata"] for job in tocsin.jobs()] == [{"crontab": {"scope": "web-1", "user": "root"}}]


def test_what_is_no_crontab_is_shown_in_part(tocsin: CommandLine) -> None:
    raw = b"0 2 * * * \xff" + b"\x7f" * 5000
    shown = tocsin("import", "crontab", "-", stdin=raw).out
    whole = tocsin("import", "crontab", "-", "--json", stdin=raw).json["lines"]

    assert max(len(line) for line in shown.splitlines()) < 400
    assert "\N{HORIZONTAL ELLIPSIS}" in shown
    assert len(whole[0]["source"]) > 5000
