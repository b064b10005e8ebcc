"""What an import of a crontab came to, drawn for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from ...ports.scheduler import Timing
from .crontab import Note
from .factories import PreviewSchedule
from .importing import Fate, ImportedLine
from .tables import rows, state
from .texts import shortened

FIRES_SHOWN: Final = 3

# What is longer is seldom a crontab; --json has the whole.
_SHOWN: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an import came to: every line with its fate, what is different afterwards, and whether it was a trial."""

    lines: Sequence[ImportedLine]
    notes: Sequence[Note]
    dry_run: bool


def crontab_report(report: Report, *, preview: PreviewSchedule, now: datetime) -> RenderableType:
    """Draw each line with what became of it; of a trial, with the next fires that `preview` finds after `now`."""
    table = rows(
        ("line", "", "zone", "crontab", "next fires" if report.dry_run else "reason"),
        (
            (
                each.line,
                state(each.fate.words),
                each.timezone,
                shortened(each.source.strip(), _SHOWN),
                _reason(each) or (_fires(each, preview, now) if report.dry_run else ""),
            )
            for each in report.lines
        ),
        empty="the file has no entries",
    )
    notes = [Text(f"line {note.line}: {shortened(note.reason, _SHOWN)}", style="yellow") for note in report.notes]
    return Group(table, Text(), *notes, Text(_summary(report), style="bold"))


def _reason(line: ImportedLine) -> str:
    return "" if line.reason is None else shortened(line.reason, _SHOWN)


def _fires(line: ImportedLine, preview: PreviewSchedule, now: datetime) -> str:
    timing = Timing(schedule=line.schedule or "", timezone=line.timezone or "UTC")
    found = preview(timing, after=now, count=FIRES_SHOWN)
    return ", ".join(f"{fire.local:%Y-%m-%d %H:%M}" for fire in found.fires)


def _summary(report: Report) -> str:
    counts = ", ".join(f"{[each.fate for each in report.lines].count(fate)} {fate.words}" for fate in Fate)
    return f"{counts}; nothing was changed (--dry-run)" if report.dry_run else counts
