from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.domain.ledger_stories import Story, verified
from tests.domain.samples import at, count_id
from tests.makers import START, a_definition, occurrences_of
from tocsin.domain.audit import check_ledger
from tocsin.domain.definition import document
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin, SkipReason
from tocsin.domain.job import JobType
from tocsin.domain.ledger import FINDINGS_LIMIT, Fate, FindingKind, JobLedger, LedgerReport, LedgerTotals, Window

SKIPPED = ExecutionStatus.SKIPPED


def a_story(*steps: tuple[str, Any], **fields: object) -> Story:
    """A job that fires each minute from START on, never overlaps, and catches everything up."""
    lenient = {"overlap_policy": "allow_all", "misfire_grace_seconds": 86_400}
    return Story.begun(START, a_definition(**{**lenient, **fields})).live(list(steps))


def touched(story: Story, touch: Callable[[list[JobExecution]], Sequence[JobExecution]]) -> LedgerReport:
    """What the proof says once somebody touched the rows of the schedule."""
    return verified(JobLedger.whole(story.job, story.changes, touch(story.scheduled)), story.now)


def test_each_nominal_time_is_counted_by_what_became_of_it() -> None:
    story = a_story(("run", (60, 6, 0)), misfire_grace_seconds=30)
    ends = [ExecutionStatus.SUCCESS, *list(ExecutionStatus)]
    started = [at(60 + 31), at(120 + 30)]
    rows = [
        replace(row, status=status, started_at=start)
        for row, status, start in zip(story.scheduled, ends, [*started, None, None, None, None], strict=False)
        if status is not ExecutionStatus.SKIPPED
    ]
    statuses = [row.status for row in rows]
    assert statuses == ["success", "pending", "running", "success", "failed", "timeout"]

    report = touched(story, lambda _: rows)

    assert report.is_clean
    assert report.totals.fates == {"ran_late": 1, "pending": 1, "running": 1, "ran": 1, "failed": 1, "timeout": 1}


def test_skipped_nominal_times_are_counted_by_reason() -> None:
    story = a_story(("run", (600, 1, 0)), misfire_grace_seconds=0, misfire_policy="skip")

    report = story.verified()

    assert (report.totals.skipped, report.totals.of(Fate.RAN), report.totals.nominal_times) == ({"misfire": 9}, 0, 10)


def test_a_row_of_skips_counts_as_far_as_it_reaches_into_the_window() -> None:
    story = a_story(("run", (600, 1, 0)), misfire_grace_seconds=0, misfire_policy="skip")

    report = story.verified(Window(after=at(120), until=at(300)))

    assert report.is_clean
    assert report.totals.skipped == {"misfire": 3}


def test_a_missing_row_is_found_with_its_time() -> None:
    story = a_story(("run", (60, 3, 0)))

    [finding] = touched(story, lambda rows: [rows[0], rows[2]]).findings

    assert (finding.kind, finding.first, finding.last, finding.count) == ("missing", at(120), at(120), 1)
    assert finding.message == "2026-01-01T00:02:00+00:00 of version 1 has no record"


def test_neighbours_that_are_missing_are_one_finding_however_many() -> None:
    story = a_story(("run", (86_400 * 40, 1, 0)))

    report = touched(story, lambda _: [])

    [finding] = report.findings
    assert (finding.first, finding.last) == (at(60), story.job.last_nominal)
    assert finding.count == report.totals.of(Fate.MISSING) == 1440 * 40 - report.totals.of(Fate.DUE)


def test_the_newest_row_is_missed_too_because_the_job_has_gone_on() -> None:
    story = a_story(("run", (60, 3, 0)))

    [finding] = touched(story, lambda rows: rows[:2]).findings

    assert finding.first == at(180)


def test_what_is_due_and_not_yet_fired_is_no_finding() -> None:
    story = a_story(("run", (60, 3, 0)), ("pass", 120))

    report = story.verified()

    assert report.is_clean
    assert (report.totals.of(Fate.DUE), report.totals.of(Fate.PENDING)) == (2, 3)


def test_a_job_that_moved_on_without_a_record_is_found() -> None:
    story = a_story(("run", (60, 3, 0)), ("pass", 120))
    leapt = replace(story.job, next_run=at(360))

    [finding] = verified(JobLedger.whole(leapt, story.changes, story.rows), story.now).findings

    assert (finding.kind, finding.first, finding.last, finding.count) == ("missing", at(240), at(300), 2)


def test_a_second_row_for_a_time_is_doubled() -> None:
    story = a_story(("run", (60, 3, 0)))
    twin = replace(story.scheduled[1], id=count_id(START))

    report = touched(story, lambda rows: [*rows, twin])

    [finding] = report.findings
    assert (finding.kind, finding.first, finding.count) == ("doubled", at(120), 1)
    assert finding.execution_ids == (story.scheduled[1].id, twin.id)
    assert report.totals.nominal_times == 3


def test_a_row_within_a_row_of_skips_is_doubled() -> None:
    story = a_story(("run", (600, 1, 0)), misfire_grace_seconds=0, misfire_policy="skip")
    inside = replace(story.scheduled[-1], id=count_id(START), scheduled_at=at(180))

    [finding] = touched(story, lambda rows: [*rows, inside]).findings

    assert (finding.kind, finding.first, finding.count) == ("doubled", at(180), 1)


@pytest.mark.parametrize("origin", [Origin.MANUAL, Origin.RETRY, Origin.EVENT, Origin.BACKFILL])
def test_a_run_of_another_origin_stands_for_no_nominal_time(origin: Origin) -> None:
    story = a_story(("run", (60, 3, 0)))
    beside = replace(story.scheduled[1], id=count_id(START), origin=origin)

    assert touched(story, lambda rows: [*rows, beside]).is_clean


def test_a_row_made_before_its_time_is_early() -> None:
    story = a_story(("run", (60, 3, 0)))
    early = replace(story.scheduled[2], created_at=at(179.49))

    [finding] = touched(story, lambda rows: [*rows[:2], early]).findings

    assert (finding.kind, finding.execution_ids) == ("early", (early.id,))


def test_a_row_made_just_before_its_time_is_in_order_if_nothing_started_before_it() -> None:
    story = a_story(("run", (60, 3, 0)))
    ahead = replace(story.scheduled[2], created_at=at(179.5))

    assert touched(story, lambda rows: [*rows[:2], ahead]).is_clean
    assert touched(story, lambda rows: [*rows[:2], replace(ahead, started_at=at(180))]).is_clean
    [finding] = touched(story, lambda rows: [*rows[:2], replace(ahead, started_at=at(179.9))]).findings

    assert (finding.kind, finding.execution_ids) == ("early", (ahead.id,))
    assert finding.message.endswith("was started at 2026-01-01T00:02:59.900000+00:00, before its time")


def test_a_start_before_the_time_of_a_clock_that_was_set_back_is_not_early() -> None:
    story = a_story(("run", (60, 3, 0)))
    started = replace(story.scheduled[2], started_at=at(10))

    assert touched(story, lambda rows: [*rows[:2], started]).is_clean


def test_a_row_of_skips_made_before_its_last_time_is_early() -> None:
    story = a_story(("run", (600, 1, 0)), misfire_grace_seconds=0, misfire_policy="skip")

    [finding] = touched(story, lambda rows: [replace(rows[0], created_at=at(300)), *rows[1:]]).findings

    assert (finding.kind, finding.first, finding.last) == ("early", at(60), story.scheduled[0].covers_until)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scheduled_at": at(125)}, "is at no nominal time of version 1 ('every 1m' in UTC)"),
        ({"job_version": 7}, "was made by version 7, which is not recorded"),
        ({"covers_count": 2}, "says what it skips although it was not skipped"),
        ({"status": SKIPPED, "skip_reason": None}, "was skipped without a reason"),
        (
            {"status": SKIPPED, "skip_reason": SkipReason.OVERLAP, "covers_until": at(120), "covers_count": 2},
            "covers 2 nominal times up to 2026-01-01T00:02:00+00:00, where there are 1",
        ),
        (
            {"status": SKIPPED, "skip_reason": SkipReason.OVERLAP, "covers_until": at(121), "covers_count": 1},
            "covers 1 nominal times up to 2026-01-01T00:02:01+00:00, where there are 1",
        ),
    ],
)
def test_a_row_that_its_version_does_not_ask_for_is_unexplained(fields: dict[str, Any], words: str) -> None:
    story = a_story(("run", (60, 3, 0)))

    report = touched(story, lambda rows: [rows[0], replace(rows[1], **fields), rows[2]])

    found = [finding for finding in report.findings if finding.kind is FindingKind.UNEXPLAINED]
    assert [finding.message.endswith(words) for finding in found] == [True]


def test_a_row_of_a_paused_version_is_unexplained() -> None:
    story = a_story(("run", (60, 2, 0)), ("pause", None), ("pass", 60))
    stray = replace(story.scheduled[-1], id=count_id(START), scheduled_at=at(180), created_at=at(180), job_version=2)

    [finding] = touched(story, lambda rows: [*rows, stray]).findings

    assert finding.message.endswith("was made by version 2, which does not fire")


def test_a_time_of_the_pause_that_was_made_up_for_is_unexplained() -> None:
    story = a_story(("run", (60, 2, 0)), ("pause", None), ("pass", 90), ("resume", None))
    burst = replace(story.scheduled[-1], id=count_id(START), scheduled_at=at(180), created_at=at(210), job_version=3)

    [finding] = touched(story, lambda rows: [*rows, burst]).findings

    assert finding.message.endswith("is at a time before version 3, by which it was made")


def test_a_row_of_an_older_version_hides_nothing_that_a_newer_one_owes() -> None:
    story = a_story(("run", (60, 2, 0)), ("rename", "b"), ("run", (60, 3, 0)))
    stray = replace(story.scheduled[0], id=count_id(START), scheduled_at=at(250), created_at=at(300))

    found = touched(story, lambda rows: [*rows[:3], stray, rows[4]]).findings

    assert [(finding.kind, finding.first) for finding in found] == [("missing", at(240)), ("unexplained", at(250))]


def test_a_one_time_job_that_is_resumed_too_late_owes_nothing() -> None:
    once = {"type": JobType.ONE_TIME, "schedule": at(10).isoformat()}
    story = Story.begun(START, a_definition(**once), paused=True)

    story.live([("trigger", None), ("pass", 25), ("resume", None), ("pass", 5)])

    assert (story.job.status, story.job.exhausted, story.job.next_run) == ("active", True, None)
    assert story.verified().findings == ()


def test_a_one_time_job_just_past_is_owed_from_the_change_that_made_it() -> None:
    minutely = {"type": JobType.INTERVAL, "schedule": "every 1m"}
    story = a_story(("pass", 30), ("once", -20), ("tick", 1), ("retime", minutely), ("run", (60, 2, 0)))

    assert story.verified().is_clean
    assert [finding.first for finding in touched(story, lambda rows: rows[1:]).findings] == [at(10)]


def test_one_more_than_max_executions_is_unexplained() -> None:
    story = a_story(("run", (60, 3, 0)), type=JobType.RECURRING, max_executions=2)
    more = replace(story.scheduled[-1], id=count_id(START), scheduled_at=at(180), created_at=at(180))

    [finding] = touched(story, lambda rows: [*rows, more]).findings

    assert finding.message.endswith("is beyond max_executions of version 1")


@pytest.mark.parametrize("bound", [{"max_executions": 2}, {"end_date": at(125)}])
def test_nothing_is_owed_behind_the_end_of_a_job(bound: dict[str, Any]) -> None:
    story = a_story(("run", (60, 9, 0)), type=JobType.RECURRING, **bound)

    report = story.verified()

    assert (report.is_clean, report.totals.nominal_times) == (True, 2)
    assert [finding.first for finding in touched(story, lambda rows: rows[:1]).findings] == [at(120)]
    assert [finding.first for finding in touched(story, lambda rows: rows[1:]).findings] == [at(60)]


def test_counting_from_the_end_finds_a_gap_before_the_window_no_alarm_behind_it() -> None:
    story = a_story(("run", (60, 9, 0)), type=JobType.RECURRING, max_executions=4)
    whole = story.ledger
    window = Window(after=at(150), until=at(540))

    uncounted = replace(whole, entries=whole.entries[1:], made_before=None)
    counted = replace(whole, entries=whole.entries[1:], made_before=1)

    for ledger in (uncounted, counted):
        assert verified(ledger, story.now, window).is_clean
        last_gone = replace(ledger, entries=ledger.entries[:-1])
        assert [finding.first for finding in verified(last_gone, story.now, window).findings] == [at(240)]


def test_the_row_that_filled_a_limit_which_was_raised_later_is_missed() -> None:
    story = a_story(
        ("run", (60, 3, 0)), ("bound", (None, 3)), ("run", (60, 2, 0)), type=JobType.RECURRING, max_executions=2
    )

    assert story.verified().is_clean
    assert [finding.first for finding in touched(story, lambda rows: [rows[0], *rows[2:]]).findings] == [at(120)]


def test_executions_behind_what_is_given_are_taken_off_the_counter() -> None:
    story = a_story(
        ("run", (60, 2, 0)), ("bound", (None, 8)), ("run", (60, 2, 0)), type=JobType.RECURRING, max_executions=3
    )
    whole = story.ledger
    gone = replace(whole, entries=[whole.entries[0], whole.entries[2]], made_before=None, made_after=1)

    [finding] = verified(gone, story.now, Window(after=START, until=at(200))).findings

    assert finding.first == at(120)


def test_a_clock_set_back_before_the_beginning_of_a_job_raises_no_alarm() -> None:
    cron = {"type": JobType.CRON, "schedule": "* * * * *"}
    story = a_story(("set_back", 3600), ("reschedule", None), ("run", (60, 3, 0)), **cron)

    assert [row.scheduled_at for row in story.scheduled] == [at(minute * 60 - 3600) for minute in (1, 2, 3)]
    assert story.verified().findings == ()


def test_a_gap_in_the_recorded_versions_is_found_and_excuses_what_it_owed() -> None:
    story = a_story(("run", (60, 2, 0)), ("pause", None), ("pass", 600), ("resume", None), ("run", (60, 2, 0)))
    ledger = JobLedger.whole(story.job, [story.changes[0], story.changes[2]], story.rows)

    [finding] = verified(ledger, story.now).findings

    assert (finding.kind, finding.message) == ("history", "version 3 follows version 1")


def test_nothing_excuses_what_lies_before_a_later_row_of_the_same_version() -> None:
    story = a_story(("run", (60, 3, 0)), ("set_aside", None))

    assert [finding.first for finding in touched(story, lambda rows: [rows[0], rows[2]]).findings] == [at(120)]


def test_a_job_that_is_not_as_its_last_version_left_it_is_found() -> None:
    story = a_story(("run", (60, 2, 0)))
    elsewhere = replace(story.job, definition=replace(story.job.definition, schedule="every 2m"))

    [finding] = verified(JobLedger.whole(elsewhere, story.changes, story.rows), story.now).findings

    assert (finding.kind, finding.message) == ("history", "the job stands at version 1 and is not as version 1 left it")


def test_a_version_that_cannot_be_read_is_found() -> None:
    story = a_story(("run", (60, 2, 0)))
    odd = replace(story.changes[0], after={"definition": 7})

    report = verified(JobLedger.whole(story.job, [odd], story.rows), story.now)

    assert "version 1 cannot be read (TypeError)" in [finding.message for finding in report.findings]


def test_what_retention_may_have_removed_is_purged_and_not_missing() -> None:
    story = a_story(("run", (60, 5, 0)))
    ledger = JobLedger.whole(story.job, story.changes, story.scheduled[3:])
    window = Window(after=START, until=story.now)

    report = check_ledger(ledger, window, now=story.now, sources=occurrences_of, purged_before=at(181))

    assert (report.is_clean, report.totals.of(Fate.PURGED), report.totals.nominal_times) == (True, 3, 5)
    [finding] = check_ledger(ledger, window, now=story.now, sources=occurrences_of, purged_before=at(121)).findings
    assert finding.first == at(180)


def test_what_was_due_when_a_schedule_could_not_be_computed_is_unknown() -> None:
    story = a_story(("run", (60, 2, 0)), ("pass", 120), ("set_aside", None), ("pass", 600))

    report = story.verified()

    assert (report.is_clean, report.totals.of(Fate.UNKNOWN), report.totals.of(Fate.PENDING)) == (True, 2, 2)


def test_a_schedule_that_cannot_be_read_is_told_of_and_judged_by_nothing() -> None:
    story = a_story(("run", (60, 2, 0)))
    odd = replace(story.job.definition, schedule="99 99 * * *", type=JobType.CRON)
    changes = [replace(story.changes[0], after={**_after(story), "definition": document(odd)})]

    report = verified(JobLedger.whole(replace(story.job, definition=odd), changes, story.rows), story.now)

    assert (report.is_clean, len(report.notes)) == (True, 1)
    assert report.notes[0].startswith("version 1: ")


def test_more_findings_than_are_listed_are_counted() -> None:
    story = a_story(("run", (60, 2 * FINDINGS_LIMIT + 4, 0)))

    report = touched(story, lambda rows: rows[::2])

    assert (len(report.findings), report.findings_count) == (FINDINGS_LIMIT, FINDINGS_LIMIT + 2)
    assert report.totals.of(Fate.MISSING) == FINDINGS_LIMIT + 2


def test_totals_of_windows_add_up() -> None:
    one = LedgerTotals(fates={Fate.RAN: 1, Fate.DUE: 2}, skipped={"overlap": 1})
    other = LedgerTotals(fates={Fate.RAN: 2}, skipped={"misfire": 4})

    assert one + other == LedgerTotals(fates={Fate.RAN: 3, Fate.DUE: 2}, skipped={"overlap": 1, "misfire": 4})


def _after(story: Story) -> dict[str, Any]:
    recorded = story.changes[0].after
    assert isinstance(recorded, dict)
    return recorded
