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
from ...domain.execution import ExecutionStatus
from ...ports.ledger import Hold
from .accounts import TYPES_AT_STAKE
from .database import Database
from .entries import Entry, ends_of, hold_of
from .statements import statements

_LEDGER: Final = statements("ledger")
_COLUMNS: Final = frozenset(_LEDGER["finish_well"].parameters) - {"now", "types_at_stake"}


async def finish(database: Database, finishes: Sequence[Finish]) -> AbstractSet[Hold]:
    """Write the ends from which nothing follows; answer which these are."""
    good = [each for each in finishes if _is_good(each)]
    if not good or len({each.execution_id for each in finishes}) < len(finishes):
        return frozenset()
    columns = ends_of([Entry(finish=each) for each in good])
    told = {name: columns[name] for name in _COLUMNS}
    rows = await database.rows(_LEDGER["finish_well"], **told, now=database.now, types_at_stake=TYPES_AT_STAKE)
    written = {row["id"] for row in rows}
    return {hold_of(each) for each in good if each.execution_id in written}


def _is_good(finish: Finish) -> bool:
    return (
        finish.status is ExecutionStatus.SUCCESS
        and not finish.failures
        and finish.releases_slot
        and finish.past_attempt is None
        and finish.lease_expires_at is None
        and finish.error is None
        and finish.error_type is None
        and finish.error_stack is None
    )
