from __future__ import annotations

import math
from datetime import timedelta

from tests.application.rig import Rig
from tests.makers import a_definition
from tocsin.application.figures import BacklogGauge
from tocsin.domain.job import MisfirePolicy
from tocsin.ports.telemetry import Attribute, Metric


def entered(rig: Rig, metric: Metric) -> list[tuple[float, dict[str, Attribute]]]:
    return [(value, labels) for each, value, labels in rig.notes.figures if each is metric]


async def test_fires_and_skips_are_counted_once_they_are_committed(rig: Rig) -> None:
    rig.handle("report", lambda: None)
    await rig.scheduler.schedule(
        a_definition(handler_name="report", schedule="every 1m", misfire_policy=MisfirePolicy.RUN_ONCE)
    )
    rig.clock.advance(timedelta(minutes=10))
    await rig.timer.run_once()

    assert entered(rig, Metric.FIRES) == [(1, {})]
    assert entered(rig, Metric.SKIPS) == [(8, {"reason": "misfire"}), (1, {"reason": "overlap"})]


async def test_an_attempt_enters_how_long_it_waited_and_ran_by_handler_and_outcome(rig: Rig) -> None:
    rig.handle("report", lambda: None)
    job = await rig.scheduler.schedule(a_definition(handler_name="report", schedule="every 1h"))
    assert job.next_run is not None
    rig.clock.move_to(job.next_run)
    await rig.timer.run_once()
    rig.clock.advance(timedelta(seconds=2))
    await rig.work()
    labels = {"handler_type": "function", "handler": "report"}

    assert entered(rig, Metric.QUEUE_TIME) == [(2.0, labels)]
    assert entered(rig, Metric.DISPATCH_TIME) == [(2.0, labels)]
    assert entered(rig, Metric.FIRE_LATENESS) == [(2.0, labels)]
    assert [run for _, run in entered(rig, Metric.RUN_TIME)] == [{**labels, "outcome": "success"}]


async def test_a_run_by_hand_is_never_late(rig: Rig) -> None:
    await rig.trigger(await rig.a_job(lambda: None))
    await rig.work()

    assert not entered(rig, Metric.FIRE_LATENESS)
    assert len(entered(rig, Metric.QUEUE_TIME)) == 1


async def test_a_failure_that_another_attempt_follows_is_a_retry(rig: Rig) -> None:
    def fail() -> None:
        raise ValueError("no good")

    await rig.trigger(await rig.a_job(fail, max_retries=1, retry_delay_ms=1))
    await rig.work()
    rig.clock.advance(timedelta(seconds=5))
    await rig.sweeper.run_once()
    await rig.work()

    assert [amount for amount, _ in entered(rig, Metric.RETRIES)] == [1]
    assert [labels["outcome"] for _, labels in entered(rig, Metric.RUN_TIME)] == ["failed", "failed"]


async def test_what_waits_on_all_nodes_is_told_until_another_node_tells_it(rig: Rig) -> None:
    gauge = BacklogGauge(jobs=rig.storage.jobs, executions=rig.storage.executions, telemetry=rig.notes)
    rig.handle("report", lambda: None)
    job = await rig.scheduler.schedule(a_definition(handler_name="report", schedule="every 1h"))
    assert job.next_run is not None
    rig.clock.move_to(job.next_run + timedelta(seconds=90))
    await rig.trigger(await rig.a_job(lambda: None))

    await gauge.run_once()
    assert entered(rig, Metric.DUE_BACKLOG_AGE) == [(90.0, {})]
    assert entered(rig, Metric.DUE_JOBS) == [(1, {})]
    assert entered(rig, Metric.READY) == [(1, {})]

    gauge.forget()
    assert math.isnan(entered(rig, Metric.READY)[-1][0])
