"""Which claims are settled, as far as the node knows that made them: nothing of them is leased any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID


class Claims:
    """
    The claims of one node, until all that they took is ended, released or handed back.

    It only spares the sweeper the search for what is settled: what it has forgotten, or never heard of, is found.
    """

    def __init__(self) -> None:
        self._claim_of: dict[UUID, UUID] = {}
        self._held: dict[UUID, int] = {}
        self._settled: list[UUID] = []

    def took(self, claim_id: UUID, execution_ids: Collection[UUID]) -> None:
        """Take note of what a claim took."""
        if execution_ids:
            # What it took again counts for the claim before no more.
            self.let_go(execution_ids)
            self._claim_of.update(dict.fromkeys(execution_ids, claim_id))
            self._held[claim_id] = len(execution_ids)

    def let_go(self, execution_ids: Iterable[UUID]) -> None:
        """Take note of executions whose leases are over, once that is committed."""
        for execution_id in execution_ids:
            claim_id = self._claim_of.pop(execution_id, None)
            if claim_id is None or claim_id not in self._held:
                continue
            self._held[claim_id] -= 1
            if not self._held[claim_id]:
                del self._held[claim_id]
                self._settled.append(claim_id)

    def forget(self, execution_ids: Iterable[UUID]) -> None:
        """Leave the claims of executions that were lost to the sweeper."""
        for execution_id in execution_ids:
            claim_id = self._claim_of.pop(execution_id, None)
            if claim_id is not None:
                self._held.pop(claim_id, None)

    def settled(self) -> Sequence[UUID]:
        """Tell, once, which claims may be removed."""
        settled, self._settled = self._settled, []
        return settled
