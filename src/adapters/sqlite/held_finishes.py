"""Finishes that still hold their rows, and what each writes there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from ...domain.accounts import Ended
from ...domain.attempt import Finish, Wait
from ...domain.execution import ExecutionStatus, Origin
from ...domain.json import Json, document_text
from ...ports.ledger import Hold
from .execution_rows import past_attempt_text
from .instants import from_micros, to_micros

_ORIGINS: Final = {origin.value: origin for origin in Origin}


class Held(NamedTuple):
    """What a finish is held against, a row of `held`."""

    number: int
    id: str
    job_id: str
    tenant_id: str
    origin: str
    scheduled_at: int
    attempt: int
    failures: int
    holds_slot: int
    worker_id: str | None
    lease_expires_at: int | None
    event_handler_id: str | None


class HeldFinish(NamedTuple):
    """A finish that still holds its row; `is_refused` once its own content was given up."""

    finish: Finish
    before: Held
    is_refused: bool = False

    @property
    def hold(self) -> Hold:
        """The attempt that it ends."""
        return self.finish.execution_id, self.finish.attempt

    @property
    def has_ended(self) -> bool:
        """Whether no other attempt follows."""
        return self.finish.status is not ExecutionStatus.PENDING

    @property
    def is_good(self) -> bool:
        """Whether it is a good end that counts no other failures than the row does."""
        return self.finish.is_good and self.finish.failures == self.before.failures

    @property
    def has_succeeded(self) -> bool:
        """Whether it is a success."""
        return self.finish.status is ExecutionStatus.SUCCESS

    def wait(self, now: datetime) -> Wait:
        """Say what the row waits for, if another attempt follows."""
        return self.finish.wait(self.before.failures, now)


def past_row(entry: HeldFinish) -> tuple[object, ...]:
    """Write an attempt that ended without ending its execution."""
    past = entry.finish.past_attempt
    text = None if past is None else past_attempt_text(replace(past, worker_id=entry.before.worker_id))
    return text, entry.before.number


def good_row(entry: HeldFinish) -> list[Json]:
    """Write a good end, as one of a batch."""
    finish = entry.finish
    return [
        entry.before.number,
        to_micros(finish.started_at),
        to_micros(finish.completed_at),
        finish.duration_ms,
        document_text(finish.result),
    ]


def ended_row(entry: HeldFinish) -> tuple[object, ...]:
    """Write any end."""
    finish = entry.finish
    return (
        finish.status.value,
        finish.failures,
        finish.error,
        finish.error_type,
        finish.error_stack,
        to_micros(finish.started_at),
        document_text(finish.result),
        to_micros(finish.completed_at),
        finish.duration_ms,
        finish.releases_slot,
        entry.before.number,
        finish.attempt,
    )


def returned_row(entry: HeldFinish, now: datetime) -> tuple[object, ...]:
    """Write that another attempt follows."""
    finish, wait = entry.finish, entry.wait(now)
    return (
        finish.failures,
        finish.error,
        finish.error_type,
        finish.error_stack,
        to_micros(finish.started_at),
        to_micros(wait.available_at),
        to_micros(wait.next_retry_at),
        to_micros(wait.dispatched_at),
        entry.before.number,
        finish.attempt,
    )


def ends_of(ended: Sequence[HeldFinish]) -> Iterator[Ended]:
    """Word ends as they count for their jobs."""
    job_ids = {text: UUID(text) for text in {entry.before.job_id for entry in ended}}
    for entry in ended:
        before = entry.before
        origin, scheduled_at = _ORIGINS[before.origin], from_micros(before.scheduled_at)
        yield Ended(job_ids[before.job_id], entry.finish, before.holds_slot, origin, scheduled_at)
