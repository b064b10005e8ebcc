from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.application.rig import Notes, Rig
from tocsin.application.declaring import CodeDeclarer
from tocsin.domain.definition import document
from tocsin.domain.errors import HandlerNotFound
from tocsin.domain.job import JobDefinition, JobStatus, JobType, ScheduledJob
from tocsin.domain.json import Json
from tocsin.domain.ownership import Owner, owner_of
from tocsin.domain.reconciliation import Declaration, Fate


def declared(key: str = "send", **fields: Json) -> Declaration:
    stated: dict[str, Json] = {
        "name": key,
        "type": "interval",
        "schedule": "every 15m",
        "handler_name": "tocsin.noop",
        **fields,
    }
    return Declaration(key=key, handler_name="tocsin.noop", fields=stated, is_whole=False)


class Code:
    """One module whose node starts again and again, on one scheduler."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.scheduler = rig.scheduler
        self.notes = Notes()

    async def start(self, *declarations: Declaration) -> list[Fate]:
        declarer = CodeDeclarer(scheduler=self.scheduler, telemetry=self.notes)
        return [step.fate for step in await declarer.declare("jobs", declarations)]

    async def jobs(self) -> Sequence[ScheduledJob]:
        return (await self.scheduler.list_jobs()).items

    async def job(self) -> ScheduledJob:
        [job] = await self.jobs()
        return job


@pytest.fixture
def code(rig: Rig) -> Code:
    return Code(rig)


async def test_a_job_is_made_once_and_kept(code: Code) -> None:
    assert await code.start(declared()) == [Fate.CREATE]
    assert await code.start(declared()) == [Fate.KEEP]

    job = await code.job()
    stated = frozenset({"name", "type", "schedule", "handler_name"})
    assert (job.definition.key, job.version) == ("send", 1)
    assert owner_of(document(job.definition)) == Owner(scope="code:jobs", stated=stated)


async def test_another_schedule_in_the_code_changes_the_job(code: Code) -> None:
    await code.start(declared())

    assert await code.start(declared(schedule="every 20m")) == [Fate.CHANGE]

    assert (await code.job()).definition.schedule == "every 20m"
    assert code.notes.of("job.declared") == [{"key": "send", "fate": "create"}, {"key": "send", "fate": "change"}]


async def test_what_the_code_states_wins_over_a_person_and_the_rest_stays(code: Code) -> None:
    await code.start(declared())
    job = await code.job()
    await code.scheduler.update_job(job.id, schedule="every 5m", priority=90, tags=("mine", *job.definition.tags))

    await code.start(declared())

    definition = (await code.job()).definition
    assert (definition.schedule, definition.priority) == ("every 15m", 90)
    assert set(definition.tags) == {"mine", "declared:code:jobs"}


async def test_what_the_code_states_no_more_has_its_default_again(code: Code) -> None:
    await code.start(declared(priority=90))

    await code.start(declared())

    assert (await code.job()).definition.priority == 50


async def test_what_a_person_paused_stays_paused(code: Code) -> None:
    await code.start(declared())
    await code.scheduler.pause_job((await code.job()).id)

    await code.start(declared(schedule="every 20m"))

    assert ((await code.job()).status, (await code.job()).definition.schedule) == (JobStatus.PAUSED, "every 20m")


async def test_a_job_that_is_declared_no_more_is_told_of_and_goes_on(code: Code) -> None:
    await code.start(declared(), declared("other"))

    assert await code.start(declared()) == [Fate.KEEP, Fate.LEFT_OVER]

    assert code.notes.of("job.orphaned") == [{"key": "other", "next": "tocsin jobs delete other"}]
    assert {job.status for job in await code.jobs()} == {JobStatus.ACTIVE}


async def test_a_job_that_a_file_declares_otherwise_is_left_to_the_file(code: Code) -> None:
    theirs = JobDefinition(
        name="send",
        key="send",
        type=JobType.INTERVAL,
        schedule="every 5m",
        handler_name="tocsin.noop",
        metadata={"declared": {"scope": "shop"}},
    )
    await code.scheduler.schedule(theirs)

    assert await code.start(declared()) == [Fate.CONFLICT]

    assert code.notes.of("job.declared_elsewhere") == [{"key": "send", "scope": "shop"}]
    assert (await code.job()).definition.schedule == "every 5m"


async def test_a_job_that_was_cancelled_is_made_again(code: Code) -> None:
    await code.start(declared())
    await code.scheduler.cancel_job((await code.job()).id)

    assert await code.start(declared()) == [Fate.CREATE]


async def test_nodes_that_start_at_once_make_each_job_once(code: Code) -> None:
    declarations = [declared(f"send-{number}") for number in range(5)]

    await asyncio.gather(*(code.start(*declarations) for _ in range(6)))

    assert sorted(job.definition.key or "" for job in await code.jobs()) == [f"send-{number}" for number in range(5)]
    assert {job.version for job in await code.jobs()} == {1}


async def test_nodes_that_start_at_once_with_another_definition_change_each_job_once(code: Code) -> None:
    await code.start(*(declared(f"send-{number}") for number in range(5)))
    changed = [declared(f"send-{number}", schedule="every 20m") for number in range(5)]

    await asyncio.gather(*(code.start(*changed) for _ in range(6)))

    assert {(job.version, job.definition.schedule) for job in await code.jobs()} == {(2, "every 20m")}


async def test_a_handler_that_nobody_has_is_refused(code: Code) -> None:
    with pytest.raises(HandlerNotFound):
        await code.start(declared(handler_name="nobody"))
