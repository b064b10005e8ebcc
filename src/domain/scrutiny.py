"""One record of a ledger, held against the version of the job that made it."""

from __future__ import annotations

from collections.abc import Iterator

from .firing import BEFORE
from .ledger import Entry
from .owed import Owed


def faults(entry: Entry, owed: Owed | None) -> Iterator[str]:
    """Say in words what about a record its version does not explain; None stands for a version that is not recorded."""
    if owed is None:
        yield f"was made by version {entry.job_version}, which is not recorded"
        return
    version = owed.version
    if not version.fires:
        yield f"was made by version {version.number}, which does not fire"
        return
    if owed.problem is not None:
        return
    if not owed.has(entry.scheduled_at):
        schedule = f"{version.job.definition.schedule!r} in {version.job.definition.timezone}"
        yield f"is at no nominal time of version {version.number} ({schedule})"
    # A record made before its version was changed to tells of a clock set back, beside which nothing lies before.
    elif entry.scheduled_at <= version.earliest_at and entry.created_at >= version.changed_at:
        yield f"is at a time before version {version.number}, by which it was made"
    yield from _misread(entry, owed)


def _misread(entry: Entry, owed: Owed) -> Iterator[str]:
    """Say what is wrong with a row of skips."""
    if entry.is_made:
        if entry.skip_reason is not None or entry.covers_until is not None or entry.covers_count is not None:
            yield "says what it skips although it was not skipped"
        return
    if entry.skip_reason is None:
        yield "was skipped without a reason"
    covered = owed.between(entry.scheduled_at - BEFORE, entry.last)
    count = 0 if covered is None else covered.count
    if covered is None or covered.last != entry.last or count != entry.count:
        yield f"covers {entry.count} nominal times up to {entry.last.isoformat()}, where there are {count}"
