"""Which claims are settled, as far as the node knows that made them: nothing of them is leased any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from ...ports.ledger import Hold


class Claims:
    """
    The claims of one node, until all that they took is ended, released or handed back.

    By holds: news of one attempt may come after the same execution was claimed again.
    It only spares the sweeper the search for what is settled: what it has forgotten, or never heard of, is found.
    """

    def __init__(self) -> None:
        self._claim_of: dict[Hold, UUID] = {}
        self._held: dict[UUID, int] = {}
        self._settled: list[UUID] = []

    def took(self, claim_id: UUID, holds: Collection[Hold]) -> None:
        """Take note of what a claim took."""
        if holds:
            # What it took again counts for the claim before no more.
            self.let_go([(execution_id, attempt - 1) for execution_id, attempt in holds if attempt > 1])
            self._claim_of.update(dict.fromkeys(holds, claim_id))
            self._held[claim_id] = len(holds)

    def let_go(self, holds: Iterable[Hold]) -> None:
        """Take note of holds whose leases are over, once that is committed."""
        for hold in holds:
            claim_id = self._claim_of.pop(hold, None)
            if claim_id is None or claim_id not in self._held:
                continue
            self._held[claim_id] -= 1
            if not self._held[claim_id]:
                del self._held[claim_id]
                self._settled.append(claim_id)

    def forget(self, holds: Iterable[Hold]) -> None:
        """Leave the claims of holds that were lost to the sweeper."""
        for hold in holds:
            claim_id = self._claim_of.pop(hold, None)
            if claim_id is not None:
                self._held.pop(claim_id, None)

    def settled(self) -> Sequence[UUID]:
        """Tell, once, which claims may be removed."""
        settled, self._settled = self._settled, []
        return settled
