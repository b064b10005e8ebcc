"""What a job stands by word for word is not read again, and nothing else passes for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.contracts.steps import TENANT
from tests.makers import START, a_job, decided
from tocsin.domain.history import read_history
from tocsin.domain.job import JobType
from tocsin.domain.ledger import JobLedger
from tocsin.domain.lifecycle import delete, pause, resume, update
from tocsin.domain.version_documents import AS_IT_STANDS
from tocsin.ports.storage import Storage

if TYPE_CHECKING:
    from tests.postgres.conftest import Stranger


async def _only_ledger(storage: Storage) -> JobLedger:
    [ledger] = (await storage.ledger.recent_ledgers(since=START - timedelta(minutes=1), limit=2)).ledgers
    return ledger


async def test_what_was_written_last_is_what_the_job_stands_by(storage: Storage) -> None:
    job = await storage.jobs.add(a_job(payload={"ä": ['"', "\\", 1.5]}, metadata={}))
    created = await _only_ledger(storage)
    renamed = replace(job.definition, name="another")
    await storage.jobs.change(TENANT, job.id, decided(update, renamed))
    updated = await _only_ledger(storage)

    assert [change.after is AS_IT_STANDS for change in created.versions] == [True]
    assert [change.after is AS_IT_STANDS for change in updated.versions] == [False, True]


async def test_what_left_the_definition_alone_is_read(storage: Storage) -> None:
    job = await storage.jobs.add(a_job())
    await storage.jobs.change(TENANT, job.id, decided(delete))

    ledger = await _only_ledger(storage)

    assert not any(change.after is AS_IT_STANDS for change in ledger.versions)
    assert not read_history(ledger.job, ledger.versions).breaks


@pytest.mark.parametrize(
    "tampering",
    [
        """UPDATE jobs SET definition = replace(definition::text, '* * * * *', '*/5 * * * *')::json""",
        """UPDATE jobs SET status = 'paused', next_run = NULL""",
        "UPDATE jobs SET deleted_at = updated_at",
        "UPDATE jobs SET version = 2",
        """UPDATE job_versions SET after = replace(after::text, '* * * * *', '*/5 * * * *')::json""",
        "UPDATE job_versions SET after = '{}'",
    ],
)
async def test_what_a_stranger_makes_of_either_is_found(storage: Storage, stranger: Stranger, tampering: str) -> None:
    await storage.jobs.add(a_job(type=JobType.CRON, schedule="* * * * *"))
    await stranger.execute(tampering)

    ledger = await _only_ledger(storage)

    assert read_history(ledger.job, ledger.versions).breaks


async def test_a_job_set_back_to_an_earlier_version_is_one_finding(storage: Storage, stranger: Stranger) -> None:
    job = await storage.jobs.add(a_job())
    for step in (pause, resume):
        await storage.jobs.change(TENANT, job.id, decided(step))
    await stranger.execute("UPDATE jobs SET version = 1")

    ledger = await _only_ledger(storage)

    assert [change.after is AS_IT_STANDS for change in ledger.versions] == [True, False, False]
    [(_, text)] = read_history(ledger.job, ledger.versions).breaks
    assert text == "the job stands at version 1 and is not as version 3 left it"


async def test_what_differs_by_blanks_is_read_and_sound(storage: Storage, stranger: Stranger) -> None:
    await storage.jobs.add(a_job())
    await stranger.execute("UPDATE job_versions SET after = replace(after::text, ':', ' : ')::json")

    ledger = await _only_ledger(storage)

    assert not any(change.after is AS_IT_STANDS for change in ledger.versions)
    assert not read_history(ledger.job, ledger.versions).breaks


async def test_an_unsound_definition_recorded_as_it_stands_is_known_for_what_it_is(
    storage: Storage, stranger: Stranger
) -> None:
    await storage.jobs.add(a_job(max_retries=7))
    await stranger.execute(
        """UPDATE jobs SET definition = replace(definition::text, '"max_retries":7', '"max_retries":true')::json"""
    )
    await stranger.execute(
        """UPDATE job_versions SET after = replace(after::text, '"max_retries":7', '"max_retries":true')::json"""
    )

    ledger = await _only_ledger(storage)
    history = read_history(ledger.job, ledger.versions)

    assert ledger.versions[0].after is AS_IT_STANDS
    assert not history.breaks
    assert history.notes == ("the definition of version 1 cannot be read, so that nobody knows what it owes",)


async def test_text_that_is_no_definition_passes_for_none(storage: Storage, stranger: Stranger) -> None:
    await storage.jobs.add(a_job())
    await stranger.execute("""UPDATE jobs SET definition = replace(definition::text, '"type":', '"kind":')::json""")
    await stranger.execute("""UPDATE job_versions SET after = replace(after::text, '"type":', '"kind":')::json""")

    ledger = await _only_ledger(storage)

    assert read_history(ledger.job, ledger.versions).breaks
