"""Finishes on their way into rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from ...domain.attempt import Finish, Wait
from ...domain.execution import ExecutionStatus
from ...domain.json import document_text
from ...ports.ledger import Hold
from .execution_rows import with_past_attempt
from .transaction import Parameters, Row

_USUAL: Final = MappingProxyType(
    {"attempt": 1, "status": ExecutionStatus.SUCCESS, "failures": 0, "duration_ms": 0, "releases_slot": True}
)
"""What most ends have in these fields, and null in the others: as the statement `finish` has it."""


def hold_of(finish: Finish) -> Hold:
    """Say which attempt a finish is of."""
    return finish.execution_id, finish.attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """
    A finish to be written, with its locked row if that was read before; `is_refused` once its own content was given up.

    What was not is held against its row by the statement that writes it.
    """

    finish: Finish
    before: Row | None = None
    is_refused: bool = False

    @property
    def hold(self) -> Hold:
        """What the finish is for."""
        return hold_of(self.finish)

    @property
    def past_attempts(self) -> str | None:
        """The text of all past attempts, or None if it stays what it is."""
        past = self.finish.past_attempt
        if past is None or self.before is None:
            return None
        return with_past_attempt(self.before["past_attempts"], replace(past, worker_id=self.before["worker_id"]))

    def wait(self, now: datetime) -> Wait:
        """Say what its row waits for, if another attempt follows."""
        failures = self.finish.failures if self.before is None else self.before["failures"]
        return self.finish.wait(failures, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Entries as they were written: those that ended, each with what counted of its row, and those that go on."""

    ended: Sequence[tuple[Entry, Row]]
    returned: Sequence[Entry]

    def missing(self, entries: Collection[Entry]) -> list[Hold]:
        """Tell which of all entries were not written, because another attempt holds their row, or none."""
        if len(self.ended) + len(self.returned) == len(entries):
            return []
        there = {entry.hold for entry in (*(entry for entry, _ in self.ended), *self.returned)}
        return [entry.hold for entry in entries if entry.hold not in there]

    def __add__(self, other: Written) -> Written:
        """Sum two batches up."""
        return Written(ended=[*self.ended, *other.ended], returned=[*self.returned, *other.returned])


def ends_of(entries: Collection[Entry]) -> Parameters:
    """
    Write ends, column by column, as they are many; a column that would hold nothing but what is usual is empty.

    Each element that crosses costs more than it takes to make it, and most executions end well.
    """
    ends = [entry.finish for entry in entries]
    columns: dict[str, list[object]] = {
        "attempt": [each.attempt for each in ends],
        "status": [each.status for each in ends],
        "failures": [each.failures for each in ends],
        "result": [document_text(each.result) for each in ends],
        "error": [each.error for each in ends],
        "error_type": [each.error_type for each in ends],
        "error_stack": [each.error_stack for each in ends],
        "started_at": [each.started_at for each in ends],
        "completed_at": [each.completed_at for each in ends],
        "duration_ms": [each.duration_ms for each in ends],
        "past_attempts": [entry.past_attempts for entry in entries],
        "releases_slot": [each.releases_slot for each in ends],
    }
    usual = {name: [] if column.count(_USUAL.get(name)) == len(ends) else column for name, column in columns.items()}
    return {"ids": [each.execution_id for each in ends], **usual}


def returned_row(entry: Entry, now: datetime) -> Parameters:
    """Write a wait for another attempt."""
    finish, wait = entry.finish, entry.wait(now)
    return {
        "id": finish.execution_id,
        "failures": finish.failures,
        "error": finish.error,
        "error_type": finish.error_type,
        "error_stack": finish.error_stack,
        "started_at": finish.started_at,
        "past_attempts": entry.past_attempts,
        "available_at": wait.available_at,
        "next_retry_at": wait.next_retry_at,
        "dispatched_at": wait.dispatched_at,
    }
