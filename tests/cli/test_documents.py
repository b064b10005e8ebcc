from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from tocsin.adapters.cli.documents import encode, to_json
from tocsin.adapters.http.wire.batches import BulkOut
from tocsin.adapters.http.wire.event_handlers import EventHandlerOut
from tocsin.adapters.http.wire.events import EventOut, EventOutcomeOut, EventReportOut
from tocsin.adapters.http.wire.executions import ExecutionOut, LogLineOut
from tocsin.adapters.http.wire.fleet import HealthOut, MetricsOut, StatsOut
from tocsin.adapters.http.wire.jobs import JobOut
from tocsin.adapters.http.wire.overviews import CalendarOut, SeriesOut, UpcomingOut
from tocsin.adapters.http.wire.pages import JobPage, page_of
from tocsin.adapters.http.wire.replays import ReplayOut
from tocsin.adapters.http.wire.schedules import PreviewOut
from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.batches import BulkAction
from tocsin.ports.queries import JobFilter
from tocsin.ports.reports import Period
from tocsin.ports.scheduler import IScheduler, Timing

from .conftest import SERVER, CommandLine

T = TypeVar("T")


def asked(tocsin: CommandLine, question: Callable[[IScheduler], Awaitable[T]]) -> T:
    async def ask() -> T:
        async with tocsin.connect(SERVER) as scheduler:
            return await question(scheduler)

    return asyncio.run(ask())


def ran(tocsin: CommandLine) -> None:
    """Leave a ledger with a success and a failure, and its past attempt."""
    job = tocsin.create("--set", "max_retries=1", "--set", "retry_delay_ms=0", "--timezone", "Europe/Berlin")
    tocsin("jobs", "trigger", job["id"])
    tocsin.run_pending(ExecutionStatus.FAILED, ExecutionStatus.FAILED)
    tocsin("jobs", "trigger", job["id"])
    tocsin.run_pending(ExecutionStatus.SUCCESS)


def over_http(shown: Any) -> Any:  # noqa: ANN401 - a pydantic model, any JSON
    return json.loads(shown.model_dump_json())


def test_a_job_is_what_the_api_shows(tocsin: CommandLine) -> None:
    ran(tocsin)
    tocsin("jobs", "create", "--name", "once", "--at", "2026-07-01T08:00:00.5+02:00", "--handler", "tocsin.noop")
    page = asked(tocsin, lambda scheduler: scheduler.list_jobs(JobFilter(limit=1, offset=0)))
    every = asked(tocsin, lambda scheduler: scheduler.list_jobs())

    assert [to_json(job) for job in every.items] == [over_http(JobOut.of(job)) for job in every.items]
    assert to_json(page) == over_http(page_of(JobPage, page, JobOut.of))


def test_an_execution_and_its_log_are_what_the_api_shows(tocsin: CommandLine) -> None:
    ran(tocsin)
    executions = asked(tocsin, lambda scheduler: scheduler.list_executions()).items
    lines = asked(tocsin, lambda scheduler: scheduler.get_execution_logs(executions[0].id)).items

    assert any(each.past_attempts for each in executions)
    assert [to_json(each) for each in executions] == [over_http(ExecutionOut.of(each)) for each in executions]
    assert [to_json(each) for each in lines] == [over_http(LogLineOut.of(each)) for each in lines]


def test_reports_are_what_the_api_shows(tocsin: CommandLine) -> None:
    ran(tocsin)
    job_id = asked(tocsin, lambda scheduler: scheduler.list_jobs()).items[0].id
    stats = asked(tocsin, lambda scheduler: scheduler.get_job_stats(job_id))
    metrics = asked(tocsin, lambda scheduler: scheduler.get_metrics())
    health = asked(tocsin, lambda scheduler: scheduler.health_check())

    assert to_json(stats) == over_http(StatsOut.of(stats))
    assert to_json(metrics) == over_http(MetricsOut.of(metrics))
    assert to_json(health) == over_http(HealthOut.of(health))


def test_what_is_seen_at_a_glance_is_what_the_api_shows(tocsin: CommandLine) -> None:
    ran(tocsin)
    job_id = asked(tocsin, lambda scheduler: scheduler.list_jobs()).items[0].id
    series = asked(tocsin, lambda scheduler: scheduler.get_series(Period.HOUR))
    upcoming = asked(tocsin, lambda scheduler: scheduler.list_upcoming(within=timedelta(days=2)))
    calendar = asked(tocsin, lambda scheduler: scheduler.get_job_calendar(job_id))
    outcome = asked(tocsin, lambda scheduler: scheduler.change_jobs(BulkAction.PAUSE, query=JobFilter(), dry_run=True))

    assert to_json(series) == over_http(SeriesOut.of(series))
    assert to_json(upcoming) == over_http(UpcomingOut.of(upcoming))
    assert to_json(calendar) == over_http(CalendarOut.of(calendar))
    assert to_json(outcome) == over_http(BulkOut.of(outcome))


def test_events_and_what_they_touched_are_what_the_api_shows(tocsin: CommandLine) -> None:
    tocsin("events", "on", "order.*", "--call", "tocsin.noop", "--batch", "5/1m", "--key", "one")
    tocsin("events", "on", "order.*", "--publish", "order.seen", "--filter", "false")
    outcome = asked(tocsin, lambda scheduler: scheduler.trigger_event("order.created", {"id": 7}))
    report = asked(tocsin, lambda scheduler: scheduler.get_event(outcome.event_id))
    handlers = asked(tocsin, lambda scheduler: scheduler.list_event_handlers()).items
    since = datetime(2025, 1, 1, tzinfo=UTC)
    until = datetime(2027, 1, 1, tzinfo=UTC)
    replay = asked(tocsin, lambda scheduler: scheduler.replay_events(handlers[0].id, since=since, until=until))

    assert to_json(outcome) == over_http(EventOutcomeOut.of(outcome))
    assert to_json(report) == over_http(EventReportOut.of_report(report))
    assert to_json(report.event) == over_http(EventOut.of(report.event))
    assert [to_json(each) for each in handlers] == [over_http(EventHandlerOut.of(each)) for each in handlers]
    assert to_json(replay) == over_http(ReplayOut.of(replay))


def test_a_preview_is_what_the_api_shows(tocsin: CommandLine) -> None:
    after = datetime(2026, 3, 27, tzinfo=UTC)
    for zone in ("UTC", "Europe/Berlin", "America/St_Johns"):
        timing = Timing(schedule="30 2 * * *", timezone=zone)
        preview = tocsin.preview(timing, after=after, count=5)

        assert to_json(preview) == over_http(PreviewOut.of(preview))


def test_json_text_is_ascii_so_that_no_terminal_obeys_it() -> None:
    written = encode({"name": "\x1b[2J\u202e\udc80"})

    assert written.isascii()
    assert "\x1b" not in written
