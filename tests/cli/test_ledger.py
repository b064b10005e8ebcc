from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

from tests.makers import planner
from tocsin.domain.definition import from_document
from tocsin.domain.job import ScheduledJob
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

    assert (verified.code, verified.out.splitlines()[-1]) == (0, "3 nominal times, all accounted for")
    assert "report" in verified.out


def test_a_lost_fire_is_listed_and_ends_with_1(tocsin: CommandLine) -> None:
    job = tocsin.create("--key", "nightly", at="* * * * *")
    tocsin.create(name="other")
    fire(tocsin, 60)
    lose_a_fire(tocsin)
    fire(tocsin, 60)

    everything = tocsin("ledger", "verify", "--json")
    one = tocsin("ledger", "verify", "--job", "nightly")
    none = tocsin("ledger", "verify", "--job", "nightly", "--to", "2026-01-01T00:01:30Z")

    assert (everything.code, one.code, none.code) == (1, 1, 0)
    assert "2026-01-01T00:02:00+00:00 of version 1 has no record" in one.out
    assert one.out.splitlines()[-1] == "3 nominal times, 1 finding"
    reports = {report["job_id"]: report for report in everything.json["items"]}
    assert (len(reports), reports[job["id"]]["findings_count"]) == (2, 1)
    assert reports[job["id"]]["totals"]["missing"] == 1


def test_the_window_is_held_against_its_bounds(tocsin: CommandLine) -> None:
    tocsin.create()

    turned = tocsin("ledger", "verify", "--from", "2026-02-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z")
    unread = tocsin("ledger", "verify", "--from", "yesteryear")

    assert (turned.code, unread.code) == (2, 2)


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
