from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.makers import planner
from tocsin.application.scheduler import Scheduler
from tocsin.domain.definition import from_document
from tocsin.domain.job import ScheduledJob
from tocsin.domain.ledger import LedgerReport
from tocsin.domain.plan import Plan

from .conftest import CommandLine


def fire(tocsin: CommandLine, seconds: int) -> None:
    tocsin.clock.advance(seconds)
    asyncio.run(tocsin.storage.ledger.fire(planner, limit=10))


def lose_a_fire(tocsin: CommandLine) -> None:
    """Move every job that is due past its next nominal time, without a record of it."""

    def past(job: ScheduledJob, now: datetime) -> Plan:
        return Plan(job=replace(job, next_run=now + timedelta(minutes=1)))

    tocsin.clock.advance(60)
    asyncio.run(tocsin.storage.ledger.fire(past, limit=10))


def test_a_sound_ledger_is_verified_with_its_totals(tocsin: CommandLine) -> None:
    tocsin.create("--set", "overlap_policy=allow_all", at="* * * * *")
    for _ in range(3):
        fire(tocsin, 60)

    verified = tocsin("ledger", "verify")

    assert (verified.code, verified.out) == (0, "1 job, 3 nominal times: 3 pending; all accounted for\n")


def test_a_lost_fire_is_listed_and_ends_with_1(tocsin: CommandLine) -> None:
    job = tocsin.create("--key", "nightly", at="* * * * *")
    other = tocsin.create(name="other")
    fire(tocsin, 60)
    lose_a_fire(tocsin)
    fire(tocsin, 60)

    everything = tocsin("ledger", "verify", "--json")
    one = tocsin("ledger", "verify", "--job", "nightly")
    none = tocsin("ledger", "verify", "--job", "nightly", "--to", "2026-01-01T00:01:30Z")
    plain = tocsin("ledger", "verify")
    full = tocsin("ledger", "verify", "--all")

    assert (everything.code, one.code, none.code) == (1, 1, 0)
    assert "2026-01-01T00:02:00+00:00 of version 1 has no record" in one.out
    assert one.out.splitlines()[-1] == "1 job, 3 nominal times: 1 pending, 1 missing, 1 skipped; 1 finding in 1 job"
    assert plain.out.splitlines()[-1] == "2 jobs, 3 nominal times: 1 pending, 1 missing, 1 skipped; 1 finding in 1 job"
    assert (f"other {other['id']}" in plain.out, f"other {other['id']}" in full.out) == (False, True)
    assert full.out.splitlines()[-1] == plain.out.splitlines()[-1]
    reports = {report["job_id"]: report for report in everything.json["items"]}
    assert (len(reports), reports[job["id"]]["findings_count"]) == (2, 1)
    assert reports[job["id"]]["totals"]["missing"] == 1


def test_the_window_is_held_against_its_bounds(tocsin: CommandLine) -> None:
    tocsin.create()

    turned = tocsin("ledger", "verify", "--from", "2026-02-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z")
    unread = tocsin("ledger", "verify", "--from", "yesteryear")

    assert (turned.code, unread.code) == (2, 2)


@pytest.mark.parametrize("option", ["--from", "--to"])
@pytest.mark.parametrize(
    "written", ["5m ago", "5 minutes ago", "2 hours ago", "1h30m ago", "2026-01-01", "2026-01-01T00:00:00+01:00", "now"]
)
def test_a_bound_of_the_window_is_written_as_people_say_what_has_been(
    tocsin: CommandLine, option: str, written: str
) -> None:
    tocsin.create()
    tocsin.clock.advance(datetime.now(UTC) - tocsin.clock.now() + timedelta(hours=1))

    assert tocsin("ledger", "verify", option, written).code == 0


def test_a_date_is_its_midnight_in_utc_and_a_length_ago_counts_from_now(tocsin: CommandLine) -> None:
    tocsin.create()
    tocsin.clock.advance(datetime.now(UTC) - tocsin.clock.now())

    [report] = tocsin("ledger", "verify", "--from", "2026-01-01", "--to", "2 hours ago", "--json").json["items"]

    assert report["since"] == "2026-01-01T00:00:00Z"
    away = datetime.now(UTC) - datetime.fromisoformat(report["until"])
    assert timedelta(hours=2) <= away < timedelta(hours=2, minutes=1)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "5m",
            "from: '5m' is not an instant; expected one such as 2026-03-01T08:00:00Z, 2026-03-01 (in UTC), or `5m ago`",
        ),
        ("2026-01-01T08:00", "from: 2026-01-01T08:00:00 needs a UTC offset, such as 2026-01-01T08:00:00Z"),
        ("a while ago", "from: 'a while' is not a length of time of up to 366 days, such as 10m, 1h30m or 6 hours"),
    ],
)
def test_a_bound_that_cannot_be_read_is_told_what_this_command_takes(
    tocsin: CommandLine, written: str, message: str
) -> None:
    ended = tocsin("ledger", "verify", "--from", written)

    assert (ended.code, ended.err.splitlines()[1]) == (2, f"  {message}")


def test_a_window_that_is_all_to_come_is_refused(tocsin: CommandLine) -> None:
    tocsin.create()

    both = tocsin("ledger", "verify", "--from", "2026-02-01", "--to", "2026-02-02")
    end = tocsin("ledger", "verify", "--to", "2026-02-02")

    now = "must not be later than now, which is 2026-01-01T00:00:00+00:00"
    assert (both.code, both.err.splitlines()[1]) == (2, f"  since: {now}")
    assert (end.code, end.err.splitlines()[1]) == (2, f"  until: {now}")


def test_jobs_are_verified_a_few_at_a_time_and_shown_in_their_order(
    tocsin: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [tocsin.create(name=f"job-{number}")["id"] for number in range(20)]
    verify = Scheduler.verify_ledger
    asked: list[UUID] = []
    asking: set[UUID] = set()
    most = 0

    async def slow(
        scheduler: Scheduler, job_id: UUID, *, since: datetime | None = None, until: datetime | None = None
    ) -> LedgerReport:
        nonlocal most
        asked.append(job_id)
        asking.add(job_id)
        most = max(most, len(asking))
        for _ in range(20 - len(asked)):
            await asyncio.sleep(0)
        asking.remove(job_id)
        return await verify(scheduler, job_id, since=since, until=until)

    monkeypatch.setattr(Scheduler, "verify_ledger", slow)
    reports = tocsin("ledger", "verify", "--json").json["items"]

    assert [report["job_id"] for report in reports] == made
    assert most == 8


def test_a_job_that_is_deleted_before_its_turn_is_passed_over(
    tocsin: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = (tocsin.create(name=name)["id"] for name in ("kept", "gone"))
    verify = Scheduler.verify_ledger

    async def late(
        scheduler: Scheduler, job_id: UUID, *, since: datetime | None = None, until: datetime | None = None
    ) -> LedgerReport:
        if str(job_id) == gone:
            await scheduler.unschedule(job_id)
        return await verify(scheduler, job_id, since=since, until=until)

    monkeypatch.setattr(Scheduler, "verify_ledger", late)
    ended = tocsin("ledger", "verify", "--json")

    assert (ended.code, [report["job_id"] for report in ended.json["items"]]) == (0, [kept])


def test_an_unknown_job_cannot_be_verified(tocsin: CommandLine) -> None:
    assert tocsin("ledger", "verify", "--job", "nobody").code == 4


def test_the_history_of_a_job_says_who_changed_what(tocsin: CommandLine) -> None:
    job = tocsin.create("--timezone", "Europe/Berlin")
    tocsin("jobs", "update", job["id"], "--priority", "high", "--set", "schedule=0 3 * * *")
    tocsin("jobs", "pause", job["id"])

    shown = tocsin("jobs", "changes", "report")
    written = tocsin("jobs", "changes", "report", "--limit", "2", "--json").json

    assert shown.code == 0
    paused, updated, created = shown.out.splitlines()[1:]
    assert "status active -> paused" in paused
    assert "schedule 0 2 * * * -> 0 3 * * *, priority 50 -> 75" in updated
    assert created.split()[0] == "1"
    assert [change["version"] for change in written["items"]] == [3, 2]
    assert (written["total"], written["has_next"]) == (3, True)
    assert from_document(written["items"][0]["after"]["definition"]).schedule == "0 3 * * *"


def test_the_history_of_a_deleted_job_is_shown_by_its_id(tocsin: CommandLine) -> None:
    job = tocsin.create()
    tocsin("jobs", "delete", job["id"], "--yes")

    shown = tocsin("jobs", "changes", job["id"])

    assert shown.code == 0
    assert "deleted false -> true" in shown.out
