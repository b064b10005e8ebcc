"""The jobs that one transaction moves, as they are read and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.job import ScheduledJob
from ...domain.plan import first_version
from ...domain.stored import own_definition, shared_definition
from ...ports.dispatcher import Dispatch
from .dispatches import read_dispatches
from .facts import tell_of_changes
from .job_rows import advance_row, counters_row, job_of, job_row, standing_row, state_row
from .statements import statements
from .transaction import Transaction, array
from .version_rows import change_row

_PLACE: Final = attrgetter(
    "next_run", "last_run", "last_nominal", "exhausted", "cancelled_at", "deleted_at", "deleted_by"
)
"""What of a job's own row says how far it is; an end, or a new outcome, changes nothing but how it stands."""

_JOBS: Final = statements("jobs")
_EXECUTIONS: Final = statements("executions")


def read_jobs(transaction: Transaction, ids: str) -> list[ScheduledJob]:
    """Read jobs, for whoever asked, in the order of a JSON array of ids; deleted ones too."""
    return [job_of(row, own_definition(row["definition"])) for row in transaction.rows(_JOBS["jobs_by_ids"], ids=ids)]


def read_shared_jobs(transaction: Transaction, ids: Iterable[object]) -> list[ScheduledJob]:
    """Read jobs, for a loop, in the order of their ids; deleted ones too."""
    rows = transaction.rows(_JOBS["jobs_by_ids"], ids=array(ids))
    return [job_of(row, shared_definition(row["definition"])) for row in rows]


def load(transaction: Transaction, accounts: Accounts, job_ids: Iterable[object]) -> Sequence[ScheduledJob]:
    """Enter jobs, read with one statement, and answer them in the order of the ids."""
    jobs = read_shared_jobs(transaction, dict.fromkeys(job_ids))
    accounts.enter(jobs)
    return jobs


def insert(transaction: Transaction, jobs: Sequence[ScheduledJob]) -> None:
    """Write new jobs, each with its first version."""
    changes = [first_version(job) for job in jobs]
    transaction.run_many(_JOBS["insert_job"], map(job_row, jobs))
    transaction.run_many(_JOBS["insert_counters"], map(counters_row, jobs))
    transaction.run_many(_JOBS["insert_version"], map(change_row, changes))
    tell_of_changes(transaction, list(zip(changes, jobs, strict=True)))


def settle(transaction: Transaction, accounts: Accounts) -> list[Dispatch]:
    """Admit waiting work where there are slots, end the jobs that are over, and write what moved: the last step."""
    dispatches = _admit(transaction, accounts)
    accounts.conclude()
    _save(transaction, accounts)
    transaction.run_many(_JOBS["save_counters"], map(counters_row, accounts.counters))
    transaction.run_many(_JOBS["insert_version"], map(change_row, accounts.changes))
    tell_of_changes(transaction, [(change, accounts.job(change.job_id)) for change in accounts.changes])
    return dispatches


def _save(transaction: Transaction, accounts: Accounts) -> None:
    """Write where jobs stand, no more of it than has moved: most only fire."""
    versioned = {change.job_id for change in accounts.changes}
    advanced: list[ScheduledJob] = []
    standing: list[ScheduledJob] = []
    wholly: list[ScheduledJob] = []
    for job in accounts.states:
        if _PLACE(job) == _PLACE(accounts.stored(job.id)):
            standing.append(job)
        else:
            (wholly if job.id in versioned else advanced).append(job)
    if transaction.run_many(_JOBS["advance"], map(advance_row, advanced)) < len(advanced):
        wholly += advanced
    transaction.run_many(_JOBS["save_standing"], map(standing_row, standing))
    transaction.run_many(_JOBS["save_state"], map(state_row, wholly))


def _admit(transaction: Transaction, accounts: Accounts) -> list[Dispatch]:
    vacancies = [(str(job_id), free) for job_id, free in accounts.vacancies.items()]
    if not vacancies:
        return []
    rows = transaction.rows(_EXECUTIONS["oldest_waiting"], vacancies=array(vacancies))
    ids = [row["id"] for row in rows]
    transaction.run(_EXECUTIONS["admit_executions"], ids=array(ids), now=transaction.now_micros)
    for job_id, admitted in Counter(row["job_id"] for row in rows).items():
        accounts.admit(UUID(job_id), admitted)
    return read_dispatches(transaction, ids)
