from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.calendar.croniter_calendar import CroniterCalendar
from tocsin.adapters.cli.crontab import (
    Crontab,
    CrontabEntry,
    CrontabLayout,
    job_name,
    read_crontab,
    to_payload,
)
from tocsin.adapters.handlers.command import CommandHandler
from tocsin.domain.errors import InvalidSchedule
from tocsin.domain.schedule import Cron, parse_schedule

DATA = Path(__file__).parent / "data"
USER, SYSTEM = CrontabLayout.USER, CrontabLayout.SYSTEM


def taken_by_tocsin(schedule: str) -> None:
    cron = parse_schedule(schedule)
    assert isinstance(cron, Cron)
    CroniterCalendar().wall_times(cron)


def read(
    text: str,
    layout: CrontabLayout = USER,
    *,
    check: Callable[[str], object] = taken_by_tocsin,
    scope: str = "",
) -> Crontab:
    return read_crontab(text, layout=layout, check=check, scope=scope)


def read_file(name: str, layout: CrontabLayout = USER) -> Crontab:
    return read((DATA / name).read_text("utf-8"), layout)


def only_entry(text: str, layout: CrontabLayout = USER) -> CrontabEntry:
    crontab = read(text, layout)
    assert crontab.refused == ()
    (entry,) = crontab.entries
    return entry


def only_reason(text: str, layout: CrontabLayout = USER) -> str:
    crontab = read(text, layout)
    assert crontab.entries == ()
    (refused,) = crontab.refused
    return refused.reason


def keys_by_source(text: str) -> dict[str, str]:
    return {entry.source: entry.key for entry in read(text).entries}


def significant_lines(text: str) -> list[int]:
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    contents = [(number, line.lstrip(" \t")) for number, line in enumerate(lines, start=1)]
    return [number for number, content in contents if content and not content.startswith("#")]


def accounted_lines(crontab: Crontab) -> list[int]:
    kept = [entry.line for entry in crontab.entries] + [setting.line for setting in crontab.settings]
    return sorted(kept + [refused.line for refused in crontab.refused])


# Whole files.


def test_a_users_crontab_is_carried_over_except_for_reboot() -> None:
    crontab = read_file("user.crontab")

    assert len(crontab.entries) == 42
    assert [(line.text, line.reason.split()[0]) for line in crontab.refused] == [
        ("@reboot ~/bin/start-tunnel", "@reboot")
    ]
    assert [note.reason.split(":")[0] for note in crontab.notes] == ["MAILTO", "RANDOM_DELAY"]
    assert crontab.entries[-1].command == "~/bin/the-last-line-has-no-newline"


def test_the_systems_crontab_names_a_user_for_each_entry_and_says_that_it_does_not_become_that_user() -> None:
    crontab = read_file("system.crontab", SYSTEM)

    assert [entry.user for entry in crontab.entries] == [
        *["root"] * 5,
        "www-data",
        "root",
        "postgres",
        "_sysstat",
        "root",
        "backup@example.com",
        "root:wheel",
    ]
    assert [line.text for line in crontab.refused] == ["@reboot root /usr/local/sbin/firewall-up"]
    assert {entry.line for entry in crontab.entries} == {note.line for note in crontab.notes}
    assert crontab.notes[-1].reason == "runs as the user of the service, not as root:wheel"


def test_each_nasty_line_is_refused_with_a_reason_of_its_own() -> None:
    text = (DATA / "nasty.crontab").read_text("utf-8")

    crontab = read(text)

    assert crontab.entries == ()
    assert [line.text for line in crontab.refused] == text.splitlines()
    assert all(line.reason for line in crontab.refused)


@pytest.mark.parametrize(
    ("name", "layout"), [("user.crontab", USER), ("system.crontab", SYSTEM), ("nasty.crontab", USER)]
)
def test_every_line_that_says_something_is_accounted_for(name: str, layout: CrontabLayout) -> None:
    text = (DATA / name).read_text("utf-8")

    assert accounted_lines(read(text, layout)) == significant_lines(text)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    text = (DATA / "user.crontab").read_text("utf-8")

    assert read("\ufeff" + text.replace("\n", "\r\n")) == read(text)


def test_an_empty_file_holds_nothing() -> None:
    assert (
        read("")
        == read("\n \t\n# only a comment\n\t# and another")
        == Crontab(entries=(), settings=(), refused=(), notes=())
    )


# Schedules.


@pytest.mark.parametrize(
    ("line", "schedule"),
    [
        ("0 5 * * * a", "0 5 * * *"),
        ("\t0\t5  *\t * *\ta", "0 5 * * *"),
        ("*/15 0-23/2 1,15 jan-Mar,12 MON,5-7 a", "*/15 0-23/2 1,15 jan-Mar,12 MON,5-7"),
        ("@hourly a", "@hourly"),
        ("@midnight\ta", "@midnight"),
        ("-0 5 * * * a", "0 5 * * *"),
    ],
)
def test_a_schedule_is_kept_as_written_with_one_blank_between_fields(line: str, schedule: str) -> None:
    assert only_entry(line).schedule == schedule


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("60 * * * * a", "minute '60': 60 is out of bounds; expected 0-59"),
        ("1,2,75 * * * * a", "minute '1,2,75': 75 is out of bounds; expected 0-59"),
        ("* * * dez * a", "month 'dez': 'dez' is no name that is known here; expected 1-12 or jan-dec"),
        ("* * * * 8 a", "day of week '8': 8 is out of bounds; expected 0-7 or sun-sat"),
        ("*/0 * * * * a", "minute '*/0': the step must be a number from 1 up, not '0'"),
        ("5/15 * * * * a", "minute '5/15': a step needs a range or * before it"),
        ("* 22-4 * * * a", "hour '22-4': the range runs backwards; write two, with a comma"),
        ("1,,2 * * * * a", "minute '1,,2': '' cannot be read; expected 0-59"),
        ("0~30 * * * * a", "minute '0~30': a time chosen at random (~) cannot be carried over; write a fixed one"),
        ("H/5 * * * * a", "minute 'H/5': a time chosen by hash (H) is not cron's; write a fixed one"),
        ("0 0 ? * * a", "day of month '?': ? is not cron's; write *"),
        ("@reboot a", "@reboot names no time: nothing here runs at the start of a machine"),
        ("0 0 12 * * ? a", "has a time field too many: the command would start with '?'"),
        ("@monthly 45 cron.monthly a", "has a time field too many: the command would start with '45'"),
        ("0 5 * * * -n a", "the option '-n' before the command is not known"),
        ("0 5 * *", "expected five time fields and a command, or NAME=value, found only '0 5 * *'"),
        ("@daily ", "expected a command after the time, found only '@daily'"),
    ],
)
def test_a_refusal_names_the_field_and_what_was_expected(line: str, reason: str) -> None:
    assert only_reason(line) == reason


def test_what_tocsins_own_calendar_refuses_is_refused_in_its_words() -> None:
    def nothing_at_five(schedule: str) -> None:
        if schedule == "0 5 * * *":
            raise InvalidSchedule.of("schedule", "not at five")

    crontab = read("0 5 * * * a\n0 6 * * * b", check=nothing_at_five)

    assert [entry.command for entry in crontab.entries] == ["b"]
    assert [line.reason for line in crontab.refused] == ["schedule: not at five"]


def test_a_day_that_never_comes_is_refused() -> None:
    assert "never comes" in only_reason("0 0 30 2 * a")


# Settings.


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("NAME=value", "value"),
        ("  NAME = value with blanks \t", "value with blanks"),
        ("NAME=", ""),
        ('NAME=""', ""),
        ("NAME=' kept '  ", " kept "),
        ('"NAME" = \'it is "so"\'', 'it is "so"'),
        ("NAME=a # no comment", "a # no comment"),
        ("NAME=$HOME/bin", "$HOME/bin"),
        ("NAME=a=b", "a=b"),
        ('NAME=a "b"', 'a "b"'),
    ],
)
def test_a_setting_reads_as_cron_reads_it(line: str, value: str) -> None:
    (setting,) = read(line).settings

    assert (setting.name, setting.value) == ("NAME", value)


def test_a_setting_holds_for_the_entries_below_it() -> None:
    crontab = read("@daily a\nX=1\n@daily b\nX=2\nY=3\n@daily c")

    assert [entry.environment for entry in crontab.entries] == [{}, {"X": "1"}, {"X": "2", "Y": "3"}]


def test_a_command_may_start_with_a_setting_of_its_own() -> None:
    assert only_entry("@daily X=1 a").command == "X=1 a"
    assert only_entry("* * * * * X=1 a").command == "X=1 a"


def test_cron_tz_is_the_time_zone_and_tz_only_a_variable() -> None:
    crontab = read("TZ=Asia/Tokyo\n@daily a\nCRON_TZ=Europe/Berlin\n@daily b\nCRON_TZ=\n@daily c")

    assert [entry.timezone for entry in crontab.entries] == [None, "Europe/Berlin", None]
    assert crontab.entries[0].environment == {"TZ": "Asia/Tokyo"}


def test_an_entry_in_an_unknown_zone_is_refused_rather_than_run_at_a_wrong_time() -> None:
    assert "Europe/Berlin" in only_reason("CRON_TZ=Europe/Berlinn\n@daily a")


def test_an_entry_under_a_shell_that_is_no_path_is_refused_rather_than_run_in_another() -> None:
    assert only_reason("SHELL=bash\n@daily a") == "runs with SHELL='bash', which is no absolute path"


@pytest.mark.parametrize("line", ["MAILTO=me", "MAILFROM=me", "RANDOM_DELAY=10", "LOGNAME=me", "USER=me"])
def test_a_setting_that_loses_its_meaning_is_kept_with_a_note(line: str) -> None:
    crontab = read(f"{line}\n@daily a")

    assert [note.line for note in crontab.notes] == [1]
    assert len(crontab.entries) == 1


@pytest.mark.parametrize("line", ["MAILTO=", 'MAILTO=""', "RANDOM_DELAY=0", "PATH=/bin"])
def test_a_setting_that_loses_nothing_needs_no_note(line: str) -> None:
    assert read(line).notes == ()


def test_the_command_sees_what_it_saw_under_cron_and_cron_lets_nobody_set_the_user() -> None:
    assert only_entry("MAILTO=me\nUSER=you\nLOGNAME=you\n@daily mail $MAILTO").environment == {"MAILTO": "me"}


# Commands.


@pytest.mark.parametrize(
    ("written", "command", "stdin"),
    [
        ("cat", "cat", None),
        ("cat%", "cat", None),
        ("cat%a", "cat", "a\n"),
        ("cat%a%b%", "cat", "a\nb\n"),
        ("cat%%a", "cat", "\na\n"),
        (r"date +\%F", "date +%F", None),
        (r"date +\%F%100\%", "date +%F", "100%\n"),
        (r"echo a\b\\c", r"echo a\b\\c", None),
        (r"echo \\%a", r"echo \\", "a\n"),
        (r"cat%a\b\\%c", "cat", "a\\b\\%c\n"),
        ("echo a \\", "echo a \\", None),
        ("echo  a  # b ", "echo  a  # b ", None),
    ],
)
def test_a_percent_sign_starts_the_input_and_ends_its_lines(written: str, command: str, stdin: str | None) -> None:
    entry = only_entry(f"* * * * * {written}")

    assert (entry.command, entry.stdin) == (command, stdin)


def test_the_leading_dash_of_suse_is_passed_over_with_a_note() -> None:
    crontab = read("-*/5 * * * * root a", SYSTEM)

    assert [(entry.user, entry.command) for entry in crontab.entries] == [("root", "a")]
    assert "every run is recorded" in crontab.notes[0].reason


@pytest.mark.parametrize("line", ["*/5 * * * * /bin/a b", "0 0 12 * * ? a b", "1 2 * * * $USER b"])
def test_what_cannot_be_a_user_is_refused_in_the_systems_crontab(line: str) -> None:
    assert "is no name of a user" in only_reason(line, SYSTEM)


def test_an_entry_of_the_systems_crontab_needs_a_command_after_the_user() -> None:
    assert only_reason("0 5 * * * a", SYSTEM) == "expected a user and a command after the time, found only 'a'"


def test_a_users_crontab_that_looks_like_the_systems_says_so() -> None:
    (note,) = read("17 * * * * root cd / && a").notes

    assert "system's crontab" in note.reason


@pytest.mark.parametrize(("line", "reason"), [("@daily a\0b", "NUL"), ("@daily a\udcffb", "UTF-8")])
def test_a_character_that_no_command_line_can_hold_is_refused(line: str, reason: str) -> None:
    assert reason in only_reason(line)


# Keys.


def test_the_same_text_gives_the_same_keys_all_different() -> None:
    text = (DATA / "user.crontab").read_text("utf-8")
    keys = [entry.key for entry in read(text).entries]

    assert keys == [entry.key for entry in read(text).entries]
    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch("crontab:[0-9a-f]{16}", key) for key in keys)


def test_a_key_does_not_hang_on_how_python_hashes() -> None:
    assert only_entry("@daily a").key == "crontab:3d791b41302cfb9b"


def test_moving_lines_changes_no_key_not_even_of_one_command_at_two_times() -> None:
    lines = ["0 5 * * * a", "0 17 * * * a", "@daily b"]

    assert keys_by_source("\n".join(lines)) == keys_by_source("\n# moved\n".join(reversed(lines)))


def test_an_edited_schedule_or_setting_keeps_the_key_so_that_the_job_is_updated() -> None:
    assert only_entry("0 5 * * * a").key == only_entry("PATH=/bin\nCRON_TZ=UTC\n0 6 * * * a").key


def test_other_lines_may_come_and_go() -> None:
    before = keys_by_source("0 5 * * * a\n0 6 * * * b")
    after = keys_by_source("0 1 * * * c\n0 5 * * * a")

    assert before["0 5 * * * a"] == after["0 5 * * * a"]


@pytest.mark.parametrize("other", ["@daily b", "@daily a%input", "@daily a%"])
def test_what_runs_makes_the_key(other: str) -> None:
    same = other == "@daily a%"

    assert (only_entry("@daily a").key == only_entry(other).key) is same


def test_the_user_and_the_scope_are_part_of_the_key() -> None:
    system = read("@daily one a\n@daily two a", SYSTEM)
    keys = {entry.key for entry in system.entries}
    scoped = {entry.key for scope in ("", "alice", "bob") for entry in read("@daily a", scope=scope).entries}

    assert len(keys) == 2
    assert len(scoped) == 3


def test_lines_that_are_alike_stay_as_many_jobs() -> None:
    keys = [entry.key for entry in read("@daily a\n@daily a\n@daily a").entries]

    assert len(set(keys)) == 3
    assert keys[0] == only_entry("@daily a").key


# Jobs.


def test_a_plain_entry_is_a_plain_payload() -> None:
    assert to_payload(only_entry("@daily a && b")) == {"shell": "a && b"}


def test_everything_that_an_entry_runs_with_is_in_the_payload() -> None:
    entry = only_entry("SHELL=/bin/bash\nHOME=/srv\n@daily cat%a")

    assert to_payload(entry) == {
        "shell": "cat",
        "shell_path": "/bin/bash",
        "stdin": "a\n",
        "environment": {"SHELL": "/bin/bash", "HOME": "/srv"},
        "cwd": "/srv",
    }


def test_a_job_is_named_after_its_command() -> None:
    assert job_name(only_entry("@daily  rsync  -a\tsrc dst ")) == "rsync -a src dst"


@pytest.mark.parametrize(("length", "end"), [(255, "aa"), (256, "a…")])
def test_a_name_of_255_characters_stays_whole_and_a_longer_one_is_cut(length: int, end: str) -> None:
    name = job_name(only_entry(f"@daily {'a' * length}"))

    assert (len(name), name[-2:]) == (255, end)


# Any text.

LINES = st.lists(
    st.one_of(
        st.text(),
        st.text(alphabet=" \t*/,-%\\@=#\"'0123456789aAhH~?\0\r\ufeff\u2003\udcff"),
        st.builds(
            "{}{}{}".format,
            st.sampled_from(
                ["* * * * * ", "5 4 1-3 jan 7 ", "@daily\t", "-0 5 * * * root ", "A=", "SHELL=", "HOME =/"]
            ),
            st.text(alphabet=" \t*%\\ab\0\u2003\x01='\"/"),
            st.text(),
        ),
    )
)


@given(LINES, st.sampled_from(CrontabLayout), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_text_is_read_and_each_line_of_it_accounted_for(lines: list[str], layout: CrontabLayout, end: str) -> None:
    text = end.join(lines)

    crontab = read(text, layout)

    assert accounted_lines(crontab) == significant_lines(text)
    assert {note.line for note in crontab.notes}.isdisjoint(refused.line for refused in crontab.refused)
    assert len({entry.key for entry in crontab.entries}) == len(crontab.entries)


@given(LINES, st.sampled_from(CrontabLayout))
def test_any_entry_makes_a_job_that_tocsin_takes(lines: list[str], layout: CrontabLayout) -> None:
    for entry in read("\n".join(lines), layout).entries:
        CommandHandler({}).check(to_payload(entry))
        name = job_name(entry)
        assert 1 <= len(name) <= 255
        assert name.isprintable()


@given(
    st.permutations(["@daily a", "@daily a", "0 5 * * * a", "0 5 * * * a%x", "1 1 1 1 1 b", "@hourly b", "@hourly c"])
)
def test_the_keys_of_a_file_do_not_depend_on_its_order(lines: list[str]) -> None:
    crontab = read("\n".join(lines))
    ordered = read("\n".join(sorted(lines)))

    def identity(entry: CrontabEntry) -> tuple[str, str]:
        return entry.source, entry.key

    assert sorted(map(identity, crontab.entries)) == sorted(map(identity, ordered.entries))
