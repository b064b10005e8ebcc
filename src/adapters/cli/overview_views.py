"""Fires to come, a month of a job, and figures over time, drawn for people."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...domain.execution import ExecutionStatus
from ...ports.overviews import CalendarDay, JobCalendar, Series, UpcomingFires
from .strips import legend, line, mark
from .tables import ago, rows
from .texts import counted, milliseconds, span, visible, wall

_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_COUNTS: Final = ("started", "completed", "failed", "timeout", "skipped", "cancelled")
_LATENESS: Final = (("lateness p50", "lateness_p50_ms"), ("lateness p99", "lateness_p99_ms"))


def upcoming(fires: UpcomingFires) -> RenderableType:
    """Draw the fires of all jobs, in order."""
    table = rows(
        ("when", "at", "name", "job"),
        ((ago(each.scheduled_at), wall(each.scheduled_at), each.name, str(each.job_id)) for each in fires.fires),
        empty="no fires in that time",
    )
    more = Text("there are more; --limit shows up to 1000", style="dim")
    return Group(table, more) if fires.truncated else table


def month(calendar: JobCalendar) -> RenderableType:
    """Draw a month as a grid of weeks: what came of a job's fires each day, and how many are to come."""
    table = Table(title=visible(f"{calendar.month} ({calendar.timezone})"), show_lines=True, title_style="bold")
    for name in _WEEKDAYS:
        table.add_column(name, min_width=6)
    cells: list[RenderableType] = [""] * (calendar.days[0].date.weekday() if calendar.days else 0)
    cells += [_day(each) for each in calendar.days]
    for start in range(0, len(cells), len(_WEEKDAYS)):
        table.add_row(*cells[start : start + len(_WEEKDAYS)])
    seen = {status for each in calendar.days for status, count in each.outcomes.items() if count}
    signs = legend([status for status in ExecutionStatus if status in seen]).append("+ to come", style="dim")
    return Group(table, signs)


def _day(day: CalendarDay) -> Text:
    text = Text(f"{day.date.day}", style="bold" if day.date == _today() else "")
    for status, count in day.outcomes.items():
        if count:
            sign, style = mark(status)
            text.append(f"\n{sign} {count}", style=style)
    if day.fires:
        text.append(f"\n+ {day.fires}", style="dim")
    return text


def _today() -> date:
    return datetime.now().astimezone().date()


def over_time(series: Series) -> RenderableType:
    """Draw each figure of a period as a line, with what it comes to; the newest bucket, at the right, is not over."""
    points = series.points
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(no_wrap=True)
    for name in _COUNTS:
        values = [getattr(each, name) for each in points]
        if any(values) or name == "started":
            table.add_row(name, line(values), f"{sum(values)}, at most {max(values, default=0)}")
    for name, field in _LATENESS:
        latest = [getattr(each, field) for each in points]
        known = [each for each in latest if each is not None]
        if known:
            table.add_row(name, line(latest), f"at most {milliseconds(max(known))}")
    return Group(table, Text(_scale(series), style="dim"))


def _scale(series: Series) -> str:
    width = span(series.bucket)
    sample = "" if series.share == 1 else f"; estimated from {series.share:.1%} of the ledger"
    since = f"since {wall(series.points[0].at)}, " if series.points else ""
    return f"{since}{counted(len(series.points), 'column')} of {width} each{sample}"
