"""What `IScheduler` promises, on all engines, in process and over HTTP against a listening server."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from tests.http.nodes import StillNode
from tests.makers import START, a_definition, a_worker, planner
from tocsin.domain.definition import document
from tocsin.domain.errors import (
    Conflict,
    ExecutionNotFound,
    HandlerNotFound,
    InvalidInput,
    InvalidJob,
    InvalidSchedule,
    InvalidTransition,
    JobNotFound,
    NotFound,
    VersionConflict,
    WorkerNotFound,
)
from tocsin.domain.execution import ExecutionStatus, JobExecution, Origin
from tocsin.domain.job import HandlerType, JobStatus, JobType, MisfirePolicy, OverlapPolicy, ScheduledJob
from tocsin.domain.ledger import Fate, FindingKind, LedgerTotals, Window
from tocsin.ports.conflicts import OnConflict
from tocsin.ports.ledger import LogLine
from tocsin.ports.queries import ExecutionFilter, JobFilter, SortBy, SortOrder
from tocsin.ports.reports import HealthStatus, Period
from tocsin.ports.scheduler import IScheduler, Timing

NOBODY = UUID(int=7)


def shown(job: ScheduledJob) -> ScheduledJob:
    """A job without what only the store needs to know of it."""
    counters = replace(job.counters, scheduled_count=0, slots_taken=0, waiting=0, live=0)
    return replace(job, last_nominal=None, exhausted=False, counters=counters)


async def a_job(scheduler: IScheduler, **fields: Any) -> ScheduledJob:  # noqa: ANN401 - fields of a definition
    return await scheduler.schedule(a_definition(**fields))


async def a_failure(scheduler: IScheduler, node: StillNode) -> JobExecution:
    job = await a_job(scheduler, max_retries=0)
    execution = await scheduler.trigger_job(job.id)
    await node.finish(str(execution.id), succeeds=False)
    return await scheduler.get_execution(execution.id)


async def test_a_job_is_read_as_it_was_made(scheduler: IScheduler, node: StillNode) -> None:
    definition = a_definition(
        key="minutely",
        description="each minute",
        timezone="Europe/Berlin",
        start_date=datetime(2026, 2, 1, 0, 0, 0, 123456, tzinfo=UTC),
        end_date=datetime(2026, 3, 1, tzinfo=UTC),
        payload={"list": [1, 2.5, None, True, "🔔"]},
        metadata={"team": "data"},
        tags=("a", "b"),
        priority=75,
        concurrency=3,
        retry_jitter=0.5,
    )

    made = await scheduler.schedule(definition)

    assert made.definition == definition
    assert (made.status, made.version, made.created_at, made.tenant_id) == (JobStatus.ACTIVE, 1, START, "default")
    assert made.next_run == definition.start_date
    assert shown(await scheduler.get_job(made.id)) == shown(made) == shown(await node.scheduler.get_job(made.id))


async def test_a_job_may_start_paused(scheduler: IScheduler) -> None:
    job = await scheduler.schedule(a_definition(), enabled=False)

    assert (job.status, job.next_run) == (JobStatus.PAUSED, None)


async def test_allow_all_needs_no_concurrency(scheduler: IScheduler) -> None:
    job = await a_job(scheduler, overlap_policy=OverlapPolicy.ALLOW_ALL)
    other = await a_job(scheduler, name="other")

    changed = await scheduler.update_job(other.id, overlap_policy=OverlapPolicy.ALLOW_ALL, concurrency=1)

    assert job.definition.overlap_policy == changed.definition.overlap_policy == OverlapPolicy.ALLOW_ALL


async def test_a_job_fires_once_at_an_instant_of_any_zone(scheduler: IScheduler) -> None:
    at = datetime(2026, 1, 2, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))

    job = await scheduler.schedule_once("once", execute_at=at, handler_name="report", tags=("x",))

    assert (job.definition.type, job.next_run, job.definition.tags) == (JobType.ONE_TIME, at, ("x",))


@pytest.mark.parametrize(
    ("schedule", "options", "kind"),
    [
        ("*/5 * * * *", {}, JobType.CRON),
        ("every 15m", {}, JobType.INTERVAL),
        ("PT6H", {"max_executions": 2}, JobType.RECURRING),
        ("@daily", {"end_date": datetime(2027, 1, 1, tzinfo=UTC)}, JobType.RECURRING),
    ],
)
async def test_a_recurring_job_is_of_the_type_that_its_schedule_means(
    scheduler: IScheduler,
    schedule: str,
    options: dict[str, Any],
    kind: JobType,
) -> None:
    job = await scheduler.schedule_recurring("often", schedule=schedule, handler_name="report", **options)

    assert (job.definition.type, job.definition.schedule) == (kind, schedule)


async def test_a_job_is_refused_with_each_field_named(scheduler: IScheduler) -> None:
    with pytest.raises(InvalidJob) as refused:
        await a_job(scheduler, name="", priority=101, tags=("",))

    assert {error.field.partition(".")[0] for error in refused.value.errors} == {"name", "priority", "tags"}


@pytest.mark.parametrize(
    ("fields", "kind", "field"),
    [
        ({"schedule": "nonsense"}, InvalidSchedule, "schedule"),
        ({"timezone": "Mars/Olympus"}, InvalidSchedule, "timezone"),
        ({"end_date": START - timedelta(days=1)}, InvalidSchedule, "end_date"),
        ({"start_date": datetime(2026, 1, 1)}, InvalidJob, "start_date"),  # noqa: DTZ001 - what is refused
        ({"handler_type": HandlerType.AGENT}, InvalidJob, "handler_type"),
        ({"handler_type": HandlerType.HTTP, "payload": {}}, InvalidJob, "payload.method"),
        ({"payload": "x" * 300_000}, InvalidJob, "payload"),
    ],
)
async def test_a_refusal_has_the_same_class_and_field_everywhere(
    scheduler: IScheduler,
    fields: dict[str, Any],
    kind: type[InvalidInput],
    field: str,
) -> None:
    with pytest.raises(kind) as refused:
        await a_job(scheduler, **fields)

    assert refused.type is kind
    assert refused.value.errors[0].field == field
    assert (await scheduler.list_jobs()).total == 0


async def test_an_instant_long_past_is_refused(scheduler: IScheduler) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        await scheduler.schedule_once("late", execute_at=START - timedelta(seconds=61), handler_name="report")

    assert [error.field for error in refused.value.errors] == ["execute_at"]


async def test_an_instant_without_an_offset_is_refused(scheduler: IScheduler) -> None:
    with pytest.raises(InvalidInput):
        await scheduler.schedule_once("naive", execute_at=datetime(2026, 1, 2), handler_name="report")  # noqa: DTZ001 - what is refused


async def test_an_unknown_handler_is_refused_with_the_known_ones(scheduler: IScheduler) -> None:
    with pytest.raises(HandlerNotFound) as refused:
        await a_job(scheduler, handler_name="later")

    assert refused.value.name == "later"
    assert {"clean", "report"} <= set(refused.value.known)
    await scheduler.schedule(a_definition(handler_name="later"), allow_unknown_handler=True)


async def test_a_taken_key_is_a_conflict_that_names_the_job(scheduler: IScheduler) -> None:
    first = await a_job(scheduler, key="k")

    with pytest.raises(Conflict) as conflict:
        await a_job(scheduler, key="k")

    assert conflict.value.existing_id == first.id


async def test_a_taken_key_keeps_or_replaces_when_told_to(scheduler: IScheduler) -> None:
    first = await a_job(scheduler, key="k")
    other = a_definition(key="k", name="other")

    kept = await scheduler.schedule(other, on_conflict=OnConflict.KEEP)
    replaced = await scheduler.schedule(other, on_conflict=OnConflict.REPLACE)

    assert (kept.id, kept.definition.name, kept.version) == (first.id, "report", 1)
    assert (replaced.id, replaced.definition.name, replaced.version) == (first.id, "other", 2)


async def test_a_job_is_paused_resumed_and_cancelled(scheduler: IScheduler) -> None:
    job = await a_job(scheduler)

    paused = await scheduler.pause_job(job.id)
    resumed = await scheduler.resume_job(job.id)
    cancelled = await scheduler.cancel_job(job.id)

    assert [each.status for each in (paused, resumed, cancelled)] == ["paused", "active", "cancelled"]
    assert (paused.next_run, resumed.next_run) == (None, START + timedelta(minutes=1))
    assert cancelled.cancelled_at == START


@pytest.mark.parametrize(
    ("before", "step", "current"),
    [
        ([], "resume_job", "active"),
        (["pause_job"], "pause_job", "paused"),
        (["cancel_job"], "pause_job", "cancelled"),
        (["cancel_job"], "resume_job", "cancelled"),
        (["cancel_job"], "cancel_job", "cancelled"),
        (["cancel_job"], "trigger_job", "cancelled"),
    ],
)
async def test_a_step_that_the_state_machine_lacks_is_refused_with_both_states(
    scheduler: IScheduler, before: list[str], step: str, current: str
) -> None:
    job = await a_job(scheduler)
    for name in before:
        await getattr(scheduler, name)(job.id)

    with pytest.raises(InvalidTransition) as refused:
        await getattr(scheduler, step)(job.id)

    assert (refused.value.subject, refused.value.current) == ("job", current)
    assert (await scheduler.get_job(job.id)).status == current


async def test_an_update_changes_what_it_names(scheduler: IScheduler) -> None:
    job = await a_job(scheduler, description="old", end_date=datetime(2027, 1, 1, tzinfo=UTC))

    changed = await scheduler.update_job(
        job.id, description=None, tags=("new",), start_date=datetime(2026, 6, 1, tzinfo=UTC), expected_version=1
    )

    assert changed.definition == replace(
        job.definition, description=None, tags=("new",), start_date=datetime(2026, 6, 1, tzinfo=UTC)
    )
    assert (changed.version, changed.next_run) == (2, datetime(2026, 6, 1, tzinfo=UTC))


async def test_an_update_is_held_to_the_bounds(scheduler: IScheduler) -> None:
    job = await a_job(scheduler)

    with pytest.raises(InvalidJob) as refused:
        await scheduler.update_job(job.id, timeout_ms=999)

    assert [error.field for error in refused.value.errors] == ["timeout_ms"]


async def test_an_update_does_not_take_anothers_key(scheduler: IScheduler) -> None:
    first, second = await a_job(scheduler, key="a"), await a_job(scheduler, key="b")

    with pytest.raises(Conflict) as conflict:
        await scheduler.update_job(second.id, key="a")

    assert conflict.value.existing_id == first.id


async def test_a_job_gets_another_schedule(scheduler: IScheduler) -> None:
    job = await a_job(scheduler)

    changed = await scheduler.reschedule(job.id, schedule="0 6 * * *", timezone="Asia/Tokyo")

    assert (changed.definition.type, changed.definition.timezone) == (JobType.CRON, "Asia/Tokyo")
    assert changed.next_run == datetime(2026, 1, 1, 21, tzinfo=UTC)
    with pytest.raises(InvalidSchedule):
        await scheduler.reschedule(job.id, schedule="nonsense")


@pytest.mark.parametrize(
    ("step", "arguments"),
    [
        ("update_job", {"name": "x"}),
        ("reschedule", {"schedule": "every 1h"}),
        ("pause_job", {}),
        ("resume_job", {}),
        ("cancel_job", {}),
        ("unschedule", {}),
    ],
)
async def test_a_change_at_another_version_is_refused_with_both(
    scheduler: IScheduler, step: str, arguments: dict[str, object]
) -> None:
    job = await a_job(scheduler)

    with pytest.raises(VersionConflict) as refused:
        await getattr(scheduler, step)(job.id, expected_version=5, **arguments)

    assert (refused.value.expected, refused.value.current) == (5, 1)
    assert shown(await scheduler.get_job(job.id)) == shown(job)


async def test_a_deleted_job_is_gone_and_its_executions_stay(scheduler: IScheduler) -> None:
    job = await a_job(scheduler)
    execution = await scheduler.trigger_job(job.id)

    await scheduler.unschedule(job.id, expected_version=1)

    assert (await scheduler.list_jobs()).total == 0
    assert (await scheduler.get_execution(execution.id)).status == ExecutionStatus.CANCELLED
    assert [each.id for each in (await scheduler.list_executions()).items] == [execution.id]


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("get_job", {}),
        ("update_job", {"name": "x"}),
        ("reschedule", {"schedule": "every 1h"}),
        ("unschedule", {}),
        ("pause_job", {}),
        ("resume_job", {}),
        ("cancel_job", {}),
        ("trigger_job", {}),
        ("retry_job", {}),
        ("preview", {}),
        ("get_job_history", {}),
        ("get_job_stats", {}),
    ],
)
async def test_an_unknown_job_is_not_found(scheduler: IScheduler, method: str, arguments: dict[str, object]) -> None:
    with pytest.raises(JobNotFound) as refused:
        await getattr(scheduler, method)(NOBODY, **arguments)

    assert refused.value.job_id == NOBODY


@pytest.mark.parametrize("method", ["get_execution", "get_execution_logs", "cancel_execution", "retry_execution"])
async def test_an_unknown_execution_is_not_found(scheduler: IScheduler, method: str) -> None:
    with pytest.raises(ExecutionNotFound) as refused:
        await getattr(scheduler, method)(NOBODY)

    assert refused.value.execution_id == NOBODY


async def test_another_tenants_things_do_not_exist(scheduler: IScheduler, node: StillNode) -> None:
    acme = node.scheduler.for_tenant("acme")
    theirs = await acme.schedule(a_definition())
    execution = await acme.trigger_job(theirs.id)

    for foreign in (scheduler.get_job(theirs.id), scheduler.get_execution(execution.id)):
        with pytest.raises(NotFound):
            await foreign
    assert (await scheduler.list_jobs()).total == (await scheduler.list_executions()).total == 0


async def test_jobs_are_listed_as_asked(scheduler: IScheduler) -> None:
    for name, tags in (("b", ("x",)), ("a", ("x", "y")), ("c", ())):
        await a_job(scheduler, name=name, tags=tags)

    async def names(**conditions: Any) -> list[str]:  # noqa: ANN401 - fields of a filter
        return [job.definition.name for job in (await scheduler.list_jobs(JobFilter(**conditions))).items]

    assert await names() == ["c", "a", "b"]
    assert await names(sort_by=SortBy.NAME, sort_order=SortOrder.ASC) == ["a", "b", "c"]
    assert await names(tags=("x", "y")) == ["a", "b"]
    assert await names(tags_all=("x", "y")) == ["a"]
    assert await names(status=(JobStatus.PAUSED, JobStatus.CANCELLED)) == []
    assert await names(type=(JobType.INTERVAL,), handler_name=("report",), created_before=START) == ["c", "a", "b"]
    assert await names(created_after=START + timedelta(microseconds=1)) == []
    assert await names(name_contains="b") == ["b"]


async def test_a_list_goes_on_after_its_cursor(scheduler: IScheduler) -> None:
    made = [(await a_job(scheduler, name=f"job {number}")).id for number in range(5)]

    query = JobFilter(limit=2, sort_order=SortOrder.ASC)
    pages = [await scheduler.list_jobs(query)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(await scheduler.list_jobs(replace(query, cursor=cursor)))

    assert [job.id for page in pages for job in page.items] == made
    assert {(page.total, page.limit, page.offset) for page in pages} == {(5, 2, pages[0].offset)}
    assert [len((await scheduler.list_jobs(JobFilter(offset=offset))).items) for offset in (0, 4, 9)] == [5, 1, 0]


async def test_a_cursor_of_another_list_is_refused(scheduler: IScheduler) -> None:
    for name in ("a", "b"):
        await a_job(scheduler, name=name)
    cursor = (await scheduler.list_jobs(JobFilter(limit=1))).next_cursor

    with pytest.raises(InvalidJob) as refused:
        await scheduler.list_jobs(JobFilter(limit=1, sort_by=SortBy.NAME, cursor=cursor))

    assert [error.field for error in refused.value.errors] == ["cursor"]


async def test_a_run_by_hand_has_its_own_payload_and_runs_once_per_key(scheduler: IScheduler) -> None:
    job = await a_job(scheduler, payload={"of": "job"})

    first = await scheduler.trigger_job(job.id, payload={"of": "run"}, idempotency_key="k")
    again = await scheduler.trigger_job(job.id, idempotency_key="k")

    assert (first.origin, first.status, first.payload) == (Origin.MANUAL, ExecutionStatus.PENDING, {"of": "run"})
    assert again.id == first.id
    assert (await scheduler.get_job_history(job.id)).total == 1


@pytest.mark.parametrize(("key", "field"), [("", "idempotency_key"), ("k" * 256, "idempotency_key")])
async def test_an_idempotency_key_has_its_bounds(scheduler: IScheduler, key: str, field: str) -> None:
    job = await a_job(scheduler)

    with pytest.raises(InvalidJob) as refused:
        await scheduler.trigger_job(job.id, idempotency_key=key)

    assert [error.field for error in refused.value.errors] == [field]


async def test_an_execution_is_read_with_its_attempts(scheduler: IScheduler, node: StillNode) -> None:
    job = await a_job(scheduler, max_retries=1)
    execution = await scheduler.trigger_job(job.id)
    await node.finish(str(execution.id), succeeds=False)

    read = await scheduler.get_execution(execution.id)

    assert read == replace(await node.scheduler.get_execution(execution.id), holds_slot=read.holds_slot)
    [past] = read.past_attempts
    assert (past.attempt, past.error_type, read.failures) == (1, "ValueError", 1)


async def test_executions_are_listed_as_asked(scheduler: IScheduler, node: StillNode) -> None:
    job, other = await a_job(scheduler, concurrency=3), await a_job(scheduler, name="other")
    made = []
    for _ in range(3):
        made.append((await scheduler.trigger_job(job.id)).id)
        node.clock.advance(1)
    await scheduler.trigger_job(other.id)
    await node.finish(str(made[0]))

    async def ids(**conditions: Any) -> list[UUID]:  # noqa: ANN401 - fields of a filter
        page = await scheduler.list_executions(ExecutionFilter(job_id=job.id, **conditions))
        return [execution.id for execution in page.items]

    assert await ids() == made[::-1]
    assert await ids(status=(ExecutionStatus.SUCCESS,)) == made[:1]
    assert await ids(origin=(Origin.SCHEDULE, Origin.RETRY)) == []
    assert await ids(scheduled_after=START + timedelta(seconds=1)) == made[:0:-1]
    assert await ids(limit=1, offset=1) == [made[1]]
    history = await scheduler.get_job_history(job.id, ExecutionFilter(limit=2))
    assert ([each.id for each in history.items], history.total) == (made[:0:-1], 3)


async def test_a_pending_execution_is_cancelled_once(scheduler: IScheduler) -> None:
    execution = await scheduler.trigger_job((await a_job(scheduler)).id)

    assert (await scheduler.cancel_execution(execution.id)).status == ExecutionStatus.CANCELLED
    with pytest.raises(InvalidTransition) as refused:
        await scheduler.cancel_execution(execution.id)
    assert (refused.value.subject, refused.value.current) == ("execution", "cancelled")


async def test_what_failed_is_retried_as_a_new_execution(scheduler: IScheduler, node: StillNode) -> None:
    failed = await a_failure(scheduler, node)

    retried = await scheduler.retry_execution(failed.id)

    assert (failed.status, failed.error_type) == (ExecutionStatus.FAILED, "ValueError")
    assert (retried.origin, retried.retry_of, retried.scheduled_at) == (Origin.RETRY, failed.id, failed.scheduled_at)


async def test_the_newest_execution_of_a_job_is_retried_if_it_failed(scheduler: IScheduler, node: StillNode) -> None:
    failed = await a_failure(scheduler, node)

    retried = await scheduler.retry_job(failed.job_id)

    assert retried.retry_of == failed.id
    await node.finish(str(retried.id))
    with pytest.raises(InvalidTransition):
        await scheduler.retry_execution(retried.id)


async def test_a_job_that_never_ran_has_nothing_to_retry(scheduler: IScheduler) -> None:
    job = await a_job(scheduler)

    with pytest.raises(ExecutionNotFound):
        await scheduler.retry_job(job.id)


async def test_an_execution_of_a_deleted_job_is_not_retried(scheduler: IScheduler, node: StillNode) -> None:
    failed = await a_failure(scheduler, node)
    await scheduler.unschedule(failed.job_id)

    with pytest.raises(JobNotFound):
        await scheduler.retry_execution(failed.id)


async def test_a_log_is_read_in_parts(scheduler: IScheduler, node: StillNode) -> None:
    execution = await scheduler.trigger_job((await a_job(scheduler)).id)
    lines = [
        LogLine(
            execution_id=execution.id,
            attempt=1,
            sequence=number,
            logged_at=START + timedelta(microseconds=number),
            level="info",
            message=f"line {number}",
            fields={"number": number},
        )
        for number in range(3)
    ]
    await node.storage.ledger.append_logs(lines)

    page = await scheduler.get_execution_logs(execution.id, after=1, limit=1)

    assert (list(page.items), page.total) == (lines[1:2], 3)
    assert list((await scheduler.get_execution_logs(execution.id)).items) == lines


@pytest.mark.parametrize(
    ("part", "field"), [({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"after": -1}, "after")]
)
async def test_a_part_of_a_log_has_its_bounds(scheduler: IScheduler, part: dict[str, int], field: str) -> None:
    execution = await scheduler.trigger_job((await a_job(scheduler)).id)

    with pytest.raises(InvalidJob) as refused:
        await scheduler.get_execution_logs(execution.id, **part)

    assert [error.field for error in refused.value.errors] == [field]


async def test_a_schedule_is_previewed_before_it_is_a_job(scheduler: IScheduler) -> None:
    timing = Timing(schedule="30 2 * * *", timezone="Europe/Berlin")

    preview = await scheduler.preview(timing, after=datetime(2026, 3, 28, 12, tzinfo=UTC), count=2)

    assert [fire.scheduled_at for fire in preview.fires] == [
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
    ]
    assert [fire.local.isoformat() for fire in preview.fires] == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert preview.fires[0].note
    assert preview.description


async def test_a_job_is_previewed_from_now(scheduler: IScheduler) -> None:
    job = await a_job(scheduler, max_executions=3, type=JobType.RECURRING)

    preview = await scheduler.preview(job.id)

    assert [fire.scheduled_at for fire in preview.fires] == [START + timedelta(minutes=n) for n in (1, 2, 3)]


@pytest.mark.parametrize("count", [0, 1001])
async def test_a_preview_has_its_bounds(scheduler: IScheduler, count: int) -> None:
    job = await a_job(scheduler)

    for subject in (job.id, Timing(schedule="@hourly")):
        with pytest.raises(InvalidSchedule) as refused:
            await scheduler.preview(subject, count=count)
        assert [error.field for error in refused.value.errors] == ["count"]


async def test_the_stats_of_a_job_add_up_its_executions(scheduler: IScheduler, node: StillNode) -> None:
    failed = await a_failure(scheduler, node)
    succeeded = await scheduler.trigger_job(failed.job_id)
    await node.finish(str(succeeded.id))

    stats = await scheduler.get_job_stats(failed.job_id)

    assert stats == await node.scheduler.get_job_stats(failed.job_id)
    assert (stats.total_executions, stats.successful, stats.failed, stats.success_rate) == (2, 1, 1, 0.5)
    assert stats.durations.p99_duration_ms == 1000
    assert [pattern.error_type for pattern in stats.failure_patterns] == ["ValueError"]
    job = await scheduler.get_job(failed.job_id)
    assert (job.counters.executions_count, job.counters.avg_duration_ms) == (2, 1000)


@pytest.mark.parametrize("period", list(Period))
async def test_metrics_add_up_a_period(scheduler: IScheduler, node: StillNode, period: Period) -> None:
    await a_failure(scheduler, node)
    await node.storage.workers.beat(a_worker(anomalies=2))

    metrics = await scheduler.get_metrics(period)

    assert metrics == await node.scheduler.get_metrics(period)
    assert (metrics.time_range, metrics.executions["total"], metrics.success_rate) == (period, 1, 0)
    assert (metrics.system.live_workers, metrics.system.anomalies) == (1, 2)


async def test_workers_are_listed(scheduler: IScheduler, node: StillNode) -> None:
    await node.storage.workers.beat(a_worker())

    assert [worker.name for worker in await scheduler.list_workers()] == ["node-1"]
    assert list(await scheduler.list_workers()) == list(await node.scheduler.list_workers())


@pytest.mark.parametrize("worker_id", ["node-1#4f2a", "node/1 é#b%23", "node-1/boot-1", "a?b=c&d#e"])
async def test_a_worker_is_asked_to_drain_and_to_resume(scheduler: IScheduler, node: StillNode, worker_id: str) -> None:
    await node.storage.workers.beat(a_worker(id=worker_id))
    await node.storage.workers.beat(a_worker(id="another"))

    for _ in range(2):
        assert await scheduler.drain_worker(worker_id) == a_worker(id=worker_id, drain_requested=True)
    asked = {worker.id: worker.drain_requested for worker in await scheduler.list_workers()}
    assert asked == {worker_id: True, "another": False}

    for _ in range(2):
        assert await scheduler.resume_worker(worker_id) == a_worker(id=worker_id)


@pytest.mark.parametrize("status", ["dead", "stopped"])
async def test_a_worker_that_is_gone_is_not_asked(scheduler: IScheduler, node: StillNode, status: str) -> None:
    gone = await node.storage.workers.beat(a_worker(status=status))

    for call, wanted in ((scheduler.drain_worker(gone.id), "drained"), (scheduler.resume_worker(gone.id), "live")):
        with pytest.raises(InvalidTransition) as caught:
            await call
        assert (caught.value.subject, caught.value.current, caught.value.wanted) == ("worker", status, wanted)
    assert list(await scheduler.list_workers()) == [gone]


@pytest.mark.parametrize("worker_id", ["node-1#gone", "node-1", "", ".", "..", "a/../b"])
async def test_a_worker_that_is_not_registered_is_not_found(scheduler: IScheduler, worker_id: str) -> None:
    for call in (scheduler.drain_worker(worker_id), scheduler.resume_worker(worker_id)):
        with pytest.raises(WorkerNotFound) as caught:
            await call
        assert (caught.value.code, caught.value.worker_id) == ("WORKER_NOT_FOUND", worker_id)


async def test_metrics_tell_what_nobody_has_taken(scheduler: IScheduler, node: StillNode) -> None:
    job = await a_job(scheduler)
    await scheduler.trigger_job(job.id)
    node.clock.advance(61)

    assert (await scheduler.get_metrics()).queue.unclaimed == {"function/report": 1}


async def test_health_names_every_component(scheduler: IScheduler, node: StillNode) -> None:
    await node.storage.workers.beat(a_worker())

    health = await scheduler.health_check()

    assert health == await node.scheduler.health_check()
    assert (health.status, health.timestamp) == (HealthStatus.HEALTHY, START)
    assert "store" in health.components


async def test_the_changes_of_a_job_are_read_newest_first_and_in_pages(scheduler: IScheduler, node: StillNode) -> None:
    job = await a_job(scheduler, payload={"a": 1}, end_date=START + timedelta(days=9), type=JobType.RECURRING)
    node.clock.advance(1)
    await scheduler.update_job(job.id, priority=7)
    await scheduler.pause_job(job.id)

    page = await scheduler.get_job_changes(job.id, limit=2)
    rest = await scheduler.get_job_changes(job.id, limit=2, cursor=page.next_cursor)

    assert [(change.version, change.reason) for change in page.items] == [(3, "paused"), (2, "updated")]
    assert [(change.version, change.before) for change in rest.items] == [(1, None)]
    assert (page.total, rest.next_cursor) == (3, None)
    paused, updated = page.items
    assert (updated.changed_at, updated.job_id, updated.tenant_id) == (node.clock.now(), job.id, "default")
    assert (
        updated.after
        == paused.before
        == {
            "definition": document(replace(job.definition, priority=7)),
            "status": "active",
            "deleted": False,
        }
    )


async def test_the_changes_of_a_deleted_job_stay_readable(scheduler: IScheduler) -> None:
    job = await a_job(scheduler)
    await scheduler.unschedule(job.id)

    assert [change.reason for change in (await scheduler.get_job_changes(job.id)).items] == ["deleted", "created"]


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 251}, {"cursor": "x"}, {"cursor": "-1"}, {"cursor": "0"}])
async def test_changes_are_asked_for_within_bounds(scheduler: IScheduler, query: dict[str, Any]) -> None:
    job = await a_job(scheduler)

    with pytest.raises(InvalidInput) as caught:
        await scheduler.get_job_changes(job.id, **query)

    assert [error.field for error in caught.value.errors] == list(query)


async def test_a_sound_ledger_is_verified_as_clean(scheduler: IScheduler, node: StillNode) -> None:
    job = await a_job(scheduler, overlap_policy=OverlapPolicy.ALLOW_ALL, misfire_policy=MisfirePolicy.SKIP)
    for seconds in (60, 60, 600):
        node.clock.advance(seconds)
        await node.storage.ledger.fire(planner, limit=1)
    node.clock.advance(60)

    report = await scheduler.verify_ledger(job.id)

    assert (report.job_id, report.is_clean, report.findings, report.notes) == (job.id, True, (), ())
    assert report.window == Window(after=node.clock.now() - timedelta(hours=24), until=node.clock.now())
    assert report.totals == LedgerTotals(fates={Fate.PENDING: 4, Fate.DUE: 1}, skipped={"misfire": 8})


async def test_a_lost_fire_is_found_in_its_window(scheduler: IScheduler, node: StillNode) -> None:
    job = await a_job(scheduler, overlap_policy=OverlapPolicy.ALLOW_ALL)
    node.clock.advance(60)
    await node.storage.ledger.fire(planner, limit=1)
    node.clock.advance(60)
    await node.storage.ledger.fire(lambda each, now: replace(planner(each, now), executions=()), limit=1)

    report = await scheduler.verify_ledger(job.id, since=START, until=START + timedelta(minutes=5))
    earlier = await scheduler.verify_ledger(job.id, since=START, until=START + timedelta(minutes=1))

    [finding] = report.findings
    lost = START + timedelta(minutes=2)
    assert (finding.kind, finding.first, finding.last, finding.count) == (FindingKind.MISSING, lost, lost, 1)
    assert (report.is_clean, report.findings_count, report.totals.of(Fate.MISSING)) == (False, 1, 1)
    assert (earlier.is_clean, earlier.totals.nominal_times) == (True, 1)


@pytest.mark.parametrize(
    ("since", "until"),
    [
        (START, START - timedelta(seconds=1)),
        (START.replace(tzinfo=None), START),
        (START + timedelta(seconds=1), None),
        (START + timedelta(seconds=1), START + timedelta(days=1)),
        (None, START + timedelta(hours=24, seconds=1)),
    ],
)
async def test_a_window_has_two_instants_in_order_and_has_begun(
    scheduler: IScheduler, since: datetime | None, until: datetime | None
) -> None:
    job = await a_job(scheduler)

    with pytest.raises(InvalidInput) as caught:
        await scheduler.verify_ledger(job.id, since=since, until=until)
    assert caught.value.code == "INVALID_INPUT"


async def test_the_ledger_of_an_unknown_job_is_not_found(scheduler: IScheduler) -> None:
    with pytest.raises(JobNotFound):
        await scheduler.verify_ledger(NOBODY)
    with pytest.raises(JobNotFound):
        await scheduler.get_job_changes(NOBODY)
