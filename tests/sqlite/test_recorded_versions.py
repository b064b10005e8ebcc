"""What a job stands by word for word is not read again, and nothing else passes for it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contracts.steps import TENANT
from tests.makers import START, a_job, decided
from tocsin.domain.history import read_history
from tocsin.domain.job import JobType
from tocsin.domain.ledger import JobLedger
from tocsin.domain.lifecycle import delete, pause, resume, update
from tocsin.domain.version_documents import AS_IT_STANDS
from tocsin.ports.storage import Storage


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
        """UPDATE jobs SET definition = replace(definition, '* * * * *', '*/5 * * * *')""",
        """UPDATE jobs SET status = 'paused', next_run = NULL""",
        "UPDATE jobs SET deleted_at = updated_at",
        "UPDATE jobs SET version = 2",
        """UPDATE job_versions SET after = replace(after, '* * * * *', '*/5 * * * *')""",
        "UPDATE job_versions SET after = '{}'",
        "UPDATE job_versions SET after = 'null'",
    ],
)
async def test_what_a_stranger_makes_of_either_is_found(
    storage: Storage, stranger: sqlite3.Connection, tampering: str
) -> None:
    await storage.jobs.add(a_job(type=JobType.CRON, schedule="* * * * *"))
    stranger.execute(tampering)

    ledger = await _only_ledger(storage)

    assert read_history(ledger.job, ledger.versions).breaks


async def test_a_job_set_back_to_an_earlier_version_is_one_finding(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    job = await storage.jobs.add(a_job())
    for step in (pause, resume):
        await storage.jobs.change(TENANT, job.id, decided(step))
    stranger.execute("UPDATE jobs SET version = 1")

    ledger = await _only_ledger(storage)

    assert [change.after is AS_IT_STANDS for change in ledger.versions] == [True, False, False]
    [(_, text)] = read_history(ledger.job, ledger.versions).breaks
    assert text == "the job stands at version 1 and is not as version 3 left it"


async def test_what_differs_by_blanks_is_read_and_sound(storage: Storage, stranger: sqlite3.Connection) -> None:
    await storage.jobs.add(a_job())
    stranger.execute("UPDATE job_versions SET after = replace(after, ':', ' : ')")

    ledger = await _only_ledger(storage)

    assert not any(change.after is AS_IT_STANDS for change in ledger.versions)
    assert not read_history(ledger.job, ledger.versions).breaks


async def test_an_unsound_definition_recorded_as_it_stands_is_known_for_what_it_is(
    storage: Storage, stranger: sqlite3.Connection
) -> None:
    await storage.jobs.add(a_job(max_retries=7))
    stranger.execute("""UPDATE jobs SET definition = replace(definition, '"max_retries":7', '"max_retries":true')""")
    stranger.execute("""UPDATE job_versions SET after = replace(after, '"max_retries":7', '"max_retries":true')""")

    ledger = await _only_ledger(storage)
    history = read_history(ledger.job, ledger.versions)

    assert ledger.versions[0].after is AS_IT_STANDS
    assert not history.breaks
    assert history.notes == ("the definition of version 1 cannot be read, so that nobody knows what it owes",)


async def test_text_that_is_no_definition_passes_for_none(storage: Storage, stranger: sqlite3.Connection) -> None:
    await storage.jobs.add(a_job())
    stranger.execute("""UPDATE jobs SET definition = replace(definition, '"type":', '"kind":')""")
    stranger.execute("""UPDATE job_versions SET after = replace(after, '"type":', '"kind":')""")

    ledger = await _only_ledger(storage)

    assert read_history(ledger.job, ledger.versions).breaks
