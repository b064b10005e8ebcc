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
from .good_ends import written
from .statements import statements

_LEDGER: Final = statements("ledger")


async def finish(database: Database, finishes: Sequence[Finish]) -> AbstractSet[Hold]:
    """Write the ends that complete their jobs; answer which these are."""
    return await written(database, _LEDGER["finish_last"], finishes, completed=JobStatus.COMPLETED, reason=NOTHING_LEFT)
