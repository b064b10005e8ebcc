"""
Good ends with which jobs of one time are completed: one statement for each table, and no job is read whole.

What is anything else is `finishing`'s. This words `with_outcome` and `conclude` of `domain.plan`, and the arithmetic of
`domain.counters.JobCounters`, for this case alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...domain.execution import Origin
from ...domain.job import JobStatus
from ...domain.json import Json, encoded
from ...domain.plan import NOTHING_LEFT
from .facts import interest
from .held_finishes import HeldFinish, good_row
from .statements import statements
from .transaction import Transaction, array

_LEDGER: Final = statements("ledger")
_OF_THE_SCHEDULE: Final = frozenset({Origin.SCHEDULE.value, Origin.RETRY.value})


def others_than_written(transaction: Transaction, entries: Sequence[HeldFinish]) -> Sequence[HeldFinish]:
    """
    Write the ends that complete their jobs, of which nobody wants to hear; answer the others.

    Raises:
        What SQLite, its driver or JSON refuse; some of it may be written then.
    """
    likely = {entry.before.job_id: entry for entry in entries if _is_likely_last(entry)}
    if not likely or interest(transaction):
        return entries
    ending = _ending(transaction, likely)
    if not ending:
        return entries
    _write(transaction, ending)
    written = {entry.before.number for entry in ending.values()}
    return [entry for entry in entries if entry.before.number not in written]


def _is_likely_last(entry: HeldFinish) -> bool:
    finish, before = entry.finish, entry.before
    return (
        finish.is_of_one_time
        and entry.is_good
        and finish.past_attempt is None
        and before.event_handler_id is None
        and before.origin in _OF_THE_SCHEDULE
    )


def _ending(transaction: Transaction, likely: Mapping[str, HeldFinish]) -> Mapping[int, HeldFinish]:
    """Answer, by the number of its job, what is the last of one that is over with it."""
    found = transaction.batch(_LEDGER["completing"], list(likely))
    return {
        number: likely[job_id]
        for number, job_id, last_nominal in found
        if likely[job_id].before.scheduled_at == last_nominal
    }


def _write(transaction: Transaction, ending: Mapping[int, HeldFinish]) -> None:
    jobs, now, completed = array(ending), transaction.now_micros, JobStatus.COMPLETED.value
    counted: list[Json] = [
        [entry.before.job_id, entry.finish.duration_ms, entry.before.holds_slot] for entry in ending.values()
    ]
    transaction.run(_LEDGER["finish_well"], ended=encoded([good_row(entry) for entry in ending.values()]))
    transaction.run(_LEDGER["count_last"], ended=encoded(counted))
    transaction.run(_LEDGER["record_last"], jobs=jobs, now=now, reason=NOTHING_LEFT, completed=completed)
    transaction.run(_LEDGER["complete"], jobs=jobs, now=now, completed=completed)
