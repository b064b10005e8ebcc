"""Verified ledgers and the history of jobs, drawn for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final
from uuid import UUID

from rich.console import Group, RenderableType
from rich.text import Text

from ...domain.json import Json
from ...domain.ledger import Fate, Finding, LedgerReport, LedgerTotals
from ...domain.plan import JobChange
from ...ports.stores import Page
from .documents import encode
from .tables import Cell, rows
from .texts import counted, shortened, visible, wall

_LONGEST: Final = 60
_HEADINGS: Final = (
    *("job", "nominal times", "ran", "late", "failed", "timeout", "cancelled", "skipped", "open", "purged", "missing"),
    "findings",
)


def verdict(reports: Sequence[LedgerReport], names: Mapping[UUID, str], *, every: bool = False) -> RenderableType:
    """
    Draw what verifying came to: the jobs with findings, what is wrong, what could not be judged, and one total.

    With `every`, clean jobs are drawn too, with what could not be judged of them; else the total counts those.
    """
    drawn = [report for report in reports if every or not report.is_clean]
    found = [(report, finding) for report in drawn for finding in report.findings]
    parts: list[RenderableType] = []
    if drawn:
        parts.append(rows(_HEADINGS, (_line(report, names) for report in drawn), empty=""))
    parts.extend(Text(visible(f"{_name(report, names)}: {note}")) for report in drawn for note in report.notes)
    if found:
        parts.append(rows(("job", "finding", "detail"), (_finding(*each, names) for each in found), empty=""))
    style = "bold red" if any(not report.is_clean for report in reports) else "bold green"
    return Group(*parts, Text(_total(reports, drawn), style=style))


def _total(reports: Sequence[LedgerReport], drawn: Sequence[LedgerReport]) -> str:
    """Say in a line what became of all nominal times, and whether that is as it should be."""
    totals = sum((report.totals for report in reports), LedgerTotals())
    fates = {fate.value.replace("_", " "): totals.of(fate) for fate in Fate} | {"skipped": sum(totals.skipped.values())}
    counts = ", ".join(f"{count} {fate}" for fate, count in fates.items() if count)
    times = f"{counted(len(reports), 'job')}, {counted(totals.nominal_times, 'nominal time')}"
    count = sum(report.findings_count for report in reports)
    faulty = counted(sum(not report.is_clean for report in reports), "job")
    parts = [f"{times}: {counts}" if counts else times]
    parts.append(f"{counted(count, 'finding')} in {faulty}" if count else "all accounted for")
    if silent := sum(bool(report.notes) for report in reports) - sum(bool(report.notes) for report in drawn):
        parts.append(f"--all shows notes on {counted(silent, 'clean job')}")
    return "; ".join(parts)


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
