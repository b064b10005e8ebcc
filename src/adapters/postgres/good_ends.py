"""
Ends that are good, and from which nothing follows but that they count: most of all there are.

What else may follow from an end (a job that is over, waiting work that is admitted, a fact that somebody listens to, an
event handler that counts it) is `finishing`'s. The statement leaves such ends alone, and words the arithmetic of
`domain.counters.JobCounters` for the rest: one round trip for a batch, instead of seven under the lock of its counters.
It locks no job: who changes one locks its counters as well, so that what the job says of itself once these are locked
holds until the ends are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from ...domain.attempt import Finish
from ...domain.json import document_text
from ...ports.ledger import Hold
from .accounts import TYPES_AT_STAKE
from .database import Database
from .entries import hold_of
from .instants import microseconds
from .statements import Statement, statements
from .transaction import Parameters

_LEDGER: Final = statements("ledger")


async def finish(database: Database, finishes: Sequence[Finish]) -> AbstractSet[Hold]:
    """Write the ends from which nothing follows; answer which these are."""
    return await written(database, _LEDGER["finish_well"], finishes, types_at_stake=TYPES_AT_STAKE)


async def written(
    database: Database, statement: Statement, finishes: Sequence[Finish], **parameters: object
) -> AbstractSet[Hold]:
    """Give the good ends that leave the row's other columns alone to a statement; answer which it has written."""
    good = [
        each
        for each in finishes
        if each.is_good and not each.failures and each.past_attempt is None and each.lease_expires_at is None
    ]
    if not good or len({each.execution_id for each in finishes}) < len(finishes):
        return frozenset()
    rows = await database.rows(statement, **_columns_of(good), now=database.now, **parameters)
    if len(rows) == len(good):
        return {hold_of(each) for each in good}
    there = {row["id"] for row in rows}
    return {hold_of(each) for each in good if each.execution_id in there}


def _columns_of(ends: Sequence[Finish]) -> Parameters:
    """Write ends column by column."""
    attempts = [each.attempt for each in ends]
    return {
        "ids": [each.execution_id for each in ends],
        "attempt": [] if attempts.count(1) == len(ends) else attempts,
        "result": [document_text(each.result) for each in ends],
        "started_us": microseconds(each.started_at for each in ends),
        "completed_us": microseconds(each.completed_at for each in ends),
        "duration_ms": [each.duration_ms for each in ends],
    }
