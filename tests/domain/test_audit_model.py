"""The proof itself under proof: a sound ledger is never doubted, and one touched row is always found."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.domain.ledger_stories import STEPS, Story, stories, verified
from tests.domain.samples import count_id
from tocsin.domain.ledger import Fate, FindingKind, JobLedger, Window

SET_BACK = st.tuples(st.just("set_back"), st.sampled_from([1, 61, 3600, 9000]))


@given(stories())
def test_a_ledger_that_nobody_touched_is_clean_and_counts_what_it_holds(story: Story) -> None:
    report = story.verified()

    assert report.findings == ()
    recorded = sum(row.covers_count or 1 for row in story.scheduled)
    assert report.totals.nominal_times - report.totals.of(Fate.DUE) == recorded


@given(stories(steps=STEPS | SET_BACK))
def test_a_clock_that_is_set_back_raises_no_alarm(story: Story) -> None:
    assume(story.is_told_whole)

    assert story.verified().findings == ()


@given(stories(steps=STEPS | SET_BACK), st.integers(0, 20_000), st.integers(0, 20_000))
def test_any_window_of_a_sound_ledger_is_clean(story: Story, back: int, length: int) -> None:
    assume(story.is_told_whole)
    after = story.now - timedelta(seconds=back)

    assert story.verified(Window(after=after, until=after + timedelta(seconds=length))).findings == ()


@given(stories(), st.lists(st.integers(1, 9000), max_size=4))
def test_windows_side_by_side_come_to_what_the_whole_comes_to(story: Story, lengths: list[int]) -> None:
    begin, whole = story.job.created_at - timedelta(minutes=2), story.verified()
    report = story.verified(Window(after=begin, until=begin))
    for length in [*lengths, 10**6]:
        until = min(story.now, report.window.until + timedelta(seconds=length))
        report = report.joined(story.verified(Window(after=report.window.until, until=until)))

    assert (report.findings, report.totals.nominal_times) == ((), whole.totals.nominal_times)
    assert +report.totals.counted == +whole.totals.counted


@given(stories(), st.data())
def test_a_row_that_is_gone_is_found(story: Story, data: st.DataObject) -> None:
    assume(story.scheduled)
    gone = data.draw(st.sampled_from(story.scheduled))
    # What fired ahead of its time, just before a change that has no such time, is not expected of either version.
    assume(not any(gone.created_at <= change.changed_at < gone.scheduled_at for change in story.changes[1:]))
    ledger = JobLedger.whole(story.job, story.changes, [row for row in story.rows if row is not gone])

    report = verified(ledger, story.now)

    assert {finding.kind for finding in report.findings} == {FindingKind.MISSING}
    assert any(finding.first <= gone.scheduled_at <= finding.last for finding in report.findings)


@given(stories(), st.data())
def test_a_row_that_is_doubled_is_found(story: Story, data: st.DataObject) -> None:
    assume(story.scheduled)
    doubled = data.draw(st.sampled_from(story.scheduled))
    twin = replace(doubled, id=count_id(story.now))

    report = verified(JobLedger.whole(story.job, story.changes, [*story.rows, twin]), story.now)

    found = [finding for finding in report.findings if finding.kind is FindingKind.DOUBLED]
    assert any(set(finding.execution_ids) == {doubled.id, twin.id} for finding in found)


@given(stories(), st.data(), st.sampled_from([-3600, -60, -7, -1, 1, 7, 60, 3600]))
def test_a_row_that_is_moved_is_found(story: Story, data: st.DataObject, seconds: int) -> None:
    assume(story.scheduled)
    moved, by = data.draw(st.sampled_from(story.scheduled)), timedelta(seconds=seconds)
    until = None if moved.covers_until is None else moved.covers_until + by
    elsewhere = replace(moved, scheduled_at=moved.scheduled_at + by, covers_until=until)
    rows = [elsewhere if row is moved else row for row in story.rows]

    assert not verified(JobLedger.whole(story.job, story.changes, rows), story.now).is_clean


@given(stories(), st.data(), st.sampled_from([-1, 1]))
def test_a_row_of_skips_that_covers_another_number_is_found(story: Story, data: st.DataObject, more: int) -> None:
    skips = [row for row in story.scheduled if row.covers_count is not None]
    assume(skips)
    wrong = data.draw(st.sampled_from(skips))
    changed = replace(wrong, covers_count=(wrong.covers_count or 0) + more)
    rows = [changed if row is wrong else row for row in story.rows]

    report = verified(JobLedger.whole(story.job, story.changes, rows), story.now)

    assert [finding.execution_ids for finding in report.findings] == [(wrong.id,)]


@given(stories(), st.data())
def test_a_version_that_is_gone_is_found(story: Story, data: st.DataObject) -> None:
    assume(len(story.changes) > 2)
    gone = data.draw(st.sampled_from(story.changes[1:]))
    changes = [change for change in story.changes if change is not gone]

    report = verified(JobLedger.whole(story.job, changes, story.rows), story.now)

    assert FindingKind.HISTORY in {finding.kind for finding in report.findings}
