"""
Good ends with which a job of one time is completed: one statement for a batch, and no job is read.

What the statement finds to be anything else is `finishing`'s. It words `with_outcome` and `conclude` of `domain.plan`,
and the arithmetic of `domain.counters.JobCounters`, for this case alone. Jobs are locked first, and like their counters
and executions judged as they then stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from ...domain.attempt import Finish
from ...domain.job import JobStatus
from ...domain.plan import NOTHING_LEFT
from ...ports.ledger import Hold
from .database import Database
from .entries import hold_of
from .good_ends import columns_of, is_good
from .statements import statements

_LEDGER: Final = statements("ledger")


async def finish(database: Database, finishes: Sequence[Finish]) -> AbstractSet[Hold]:
    """Write the ends that complete their jobs; answer which these are."""
    good = [each for each in finishes if is_good(each)]
    if not good or len({each.execution_id for each in finishes}) < len(finishes):
        return frozenset()
    rows = await database.rows(
        _LEDGER["finish_last"], **columns_of(good), now=database.now, completed=JobStatus.COMPLETED, reason=NOTHING_LEFT
    )
    written = {row["id"] for row in rows}
    return {hold_of(each) for each in good if each.execution_id in written}
