"""What is done to many jobs at once, drawn for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from ...domain.job import ScheduledJob
from ...ports.batches import BulkOutcome
from .tables import ago, rows, state
from .texts import counted


def bulk_facts(outcome: BulkOutcome) -> RenderableType:
    """Draw what an action came to, or would come to: some of the jobs it changes, those it cannot, and the counts."""
    parts: list[RenderableType] = []
    if outcome.jobs:
        changes = ((str(each.id), each.name, state(each.status)) for each in outcome.jobs)
        parts.append(rows(("id", "name", "then"), changes, empty=""))
        parts.extend(_more(outcome.changed - len(outcome.jobs)))
    if outcome.refused:
        refusals = ((str(each.job_id), each.name, each.message) for each in outcome.refused)
        parts.append(rows(("id", "name", "reason"), refusals, empty=""))
        parts.extend(_more(refused(outcome) - len(outcome.refused)))
    return Group(*parts, Text(_sum(outcome), style="bold"))


def refused(outcome: BulkOutcome) -> int:
    """Count the jobs that cannot be changed so, the ones that are not shown included."""
    return outcome.matched - outcome.changed - outcome.unchanged


def created_list(jobs: Sequence[ScheduledJob]) -> RenderableType:
    """Draw jobs that were made together."""
    return rows(
        ("id", "name", "status", "next run"),
        ((str(job.id), job.definition.name, state(job.status), ago(job.next_run)) for job in jobs),
        empty="the file has no jobs",
    )


def _more(count: int) -> list[RenderableType]:
    return [Text(f"and {count} more", style="dim")] if count > 0 else []


def _sum(outcome: BulkOutcome) -> str:
    verb = "would change" if outcome.dry_run else "changed"
    told = f"{outcome.action.value}: {counted(outcome.matched, 'job')} meant, {verb} {outcome.changed}"
    for count, words in ((outcome.unchanged, "stood so before"), (refused(outcome), "refused")):
        told += f", {count} {words}" if count else ""
    return f"{told}; nothing was changed (--dry-run)" if outcome.dry_run else told
