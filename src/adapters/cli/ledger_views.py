"""Verified ledgers and the history of jobs, drawn for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final
from uuid import UUID

from rich.console import Group, RenderableType
from rich.text import Text

from ...domain.json import Json
from ...domain.ledger import Fate, Finding, LedgerReport
from ...domain.plan import JobChange
from ...ports.stores import Page
from .documents import encode
from .tables import Cell, rows
from .texts import counted, shortened, wall

_LONGEST: Final = 60
_HEADINGS: Final = (
    *("job", "nominal times", "ran", "late", "failed", "timeout", "cancelled", "skipped", "open", "purged", "missing"),
    "findings",
)


def verdict(reports: Sequence[LedgerReport], names: Mapping[UUID, str]) -> RenderableType:
    """Draw what verifying came to: the totals of each job, then what is wrong, then what could not be judged."""
    totals = rows(_HEADINGS, (_line(report, names) for report in reports), empty="no jobs")
    found = [(report, finding) for report in reports for finding in report.findings]
    notes = [f"{_name(report, names)}: {note}" for report in reports for note in report.notes]
    count = sum(report.findings_count for report in reports)
    parts: list[RenderableType] = [totals, *map(Text, notes)]
    if found:
        parts.append(rows(("job", "finding", "detail"), (_finding(*each, names) for each in found), empty=""))
    times = counted(sum(report.totals.nominal_times for report in reports), "nominal time")
    summary = f"{times}, {counted(count, 'finding')}" if count else f"{times}, all accounted for"
    return Group(*parts, Text(summary, style="bold red" if count else "bold green"))


def _line(report: LedgerReport, names: Mapping[UUID, str]) -> Iterator[Cell]:
    totals = report.totals
    yield _name(report, names)
    yield totals.nominal_times
    for fate in (Fate.RAN, Fate.RAN_LATE, Fate.FAILED, Fate.TIMEOUT, Fate.CANCELLED):
        yield totals.of(fate)
    yield sum(totals.skipped.values())
    yield sum(totals.of(fate) for fate in (Fate.PENDING, Fate.RUNNING, Fate.DUE))
    yield totals.of(Fate.PURGED) + totals.of(Fate.UNKNOWN)
    yield totals.of(Fate.MISSING)
    yield report.findings_count


def _finding(report: LedgerReport, finding: Finding, names: Mapping[UUID, str]) -> Iterator[Cell]:
    ids = "".join(f"; execution {execution_id}" for execution_id in finding.execution_ids)
    yield _name(report, names)
    yield Text(finding.kind.value, style="red")
    yield f"{finding.message}{ids}"


def _name(report: LedgerReport, names: Mapping[UUID, str]) -> str:
    return f"{names.get(report.job_id, '')} {report.job_id}".strip()


def change_list(page: Page[JobChange]) -> RenderableType:
    """Draw the versions of a job: who changed what, when and why."""
    return rows(
        ("version", "when", "who", "why", "detail"),
        (
            (
                change.version,
                wall(change.changed_at),
                change.changed_by,
                change.reason,
                ", ".join(_differences(change)) or None,
            )
            for change in page.items
        ),
        empty="no versions",
    )


def _differences(change: JobChange) -> Iterator[str]:
    """Say field by field what a version changed; the first one changed nothing."""
    if not isinstance(change.before, dict) or not isinstance(change.after, dict):
        return
    before, after = _flat(change.before), _flat(change.after)
    for name in dict.fromkeys(chain(after, before)):
        old, new = before.get(name), after.get(name)
        if _text(old) != _text(new):
            yield f"{name} {_text(old)} -> {_text(new)}"


def _flat(recorded: Mapping[str, Json]) -> dict[str, Any]:
    """Put the fields of the definition beside status and deletion."""
    definition = recorded.get("definition")
    fields: Iterable[tuple[str, Json]] = definition.items() if isinstance(definition, dict) else ()
    return {name: value for name, value in recorded.items() if name != "definition"} | dict(fields)


def _text(value: Json) -> str:
    text = value if isinstance(value, str) else " ".join(encode(value).split())
    return shortened(text, _LONGEST)
