from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from tests.contracts.steps import TENANT, claim, executions_of, trigger, versions_of
from tests.makers import START, a_definition, a_job, decided
from tocsin.adapters.system import ManualClock
from tocsin.domain.definition import document
from tocsin.domain.job import ScheduledJob
from tocsin.domain.lifecycle import pause, redefine, update
from tocsin.domain.plan import Decision, Plan
from tocsin.ports.storage import Storage

MINUTE = timedelta(minutes=1)


def kept(_: ScheduledJob) -> Decision:
    """Leave whoever has the key as it is."""
    return lambda job, _: Plan(job=job)


def replaced(new: ScheduledJob) -> Decision:
    """Give whoever has the key the new definition."""
    return decided(redefine, new.definition)


async def test_another_definition_that_is_decided_for_many_jobs_is_stored(storage: Storage, clock: ManualClock) -> None:
    jobs = [await storage.jobs.add(a_job(name=f"job {n}")) for n in range(3)]
    clock.advance(1)
    another = a_definition(name="other", schedule="every 2m", payload={"n": [1]})

    changed = await storage.batches.change(TENANT, [job.id for job in jobs], decided(update, another))

    assert [job.definition for job in changed.jobs] == [another] * 3
    for job in jobs:
        stored = await storage.jobs.get(TENANT, job.id)
        assert (stored.definition, stored.version, stored.next_run) == (another, 2, START + 2 * MINUTE)
        _, last = await versions_of(storage, TENANT, job.id)
        assert cast("Any", last.after)["definition"] == document(another)


async def test_what_is_done_to_the_answer_of_a_batch_reaches_no_attempt(storage: Storage) -> None:
    payload = {"n": [1]}
    await storage.batches.add([a_job(key="k", payload=payload), a_job(name="other", payload=payload)], kept)
    answers = [
        *(await storage.batches.add([a_job(key="k", payload={})], kept)).jobs,
        *(await storage.batches.add([a_job(key="k", payload=payload, name="new")], replaced)).jobs,
    ]
    answers += (await storage.batches.change(TENANT, [answers[0].id], decided(pause))).jobs

    for answer in answers:
        assert answer.definition.payload == payload
        cast("Any", answer.definition.payload)["n"].append("spoilt")

    [attempt] = await claim(storage, *await trigger(storage, answers[0], 1))
    assert attempt.definition.payload == payload
    assert len(await executions_of(storage, answers[0])) == 1
