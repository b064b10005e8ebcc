"""One screen about everything, drawn for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...domain.execution import JobExecution
from ...ports.overviews import Series, UpcomingFires
from ...ports.reports import Health, Metrics
from ...ports.stores import Page, Worker
from .node_views import status_of
from .strips import line
from .tables import rows, state
from .texts import milliseconds, percent, relative, span, visible

_MOST_NODES: Final = 8
_BESIDE_LINES: Final = 42
"""Columns for the name of a line, and for what it comes to."""

_FRAME: Final = 3
"""Lines of a panel beside its rows: two of its frame, and the headings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one look came to; `names` are those of the jobs of the executions."""

    health: Health
    workers: Sequence[Worker]
    metrics: Metrics
    series: Series
    executions: Page[JobExecution]
    fires: UpcomingFires
    names: Mapping[UUID, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What is shown: what was seen last, and why nothing newer was; or that it is held still, or over."""

    server: str
    seen: Seen | None = None
    trouble: str | None = None
    is_held: bool = False
    is_over: bool = False

    def after(self, key: str | None) -> Screen:
        """Do what a key asks for."""
        match key:
            case "q" | "Q":
                return replace(self, is_over=True)
            case "p" | "P" | " ":
                return replace(self, is_held=not self.is_held)
            case _:
                return self


def draw(screen: Screen, now: datetime, *, width: int) -> RenderableType:
    """Draw a screen, as large as the terminal, which is `width` columns wide."""
    if screen.seen is None:
        return Group(_headline(screen, now), Text(visible(screen.trouble or "looking"), style="red"), _keys(screen))
    seen = screen.seen
    nodes = [worker for worker in seen.workers if not worker.is_gone][:_MOST_NODES]
    lines = _lines(seen.series, width - _BESIDE_LINES)
    layout = Layout()
    layout.split_column(
        Layout(Group(_headline(screen, now), _queue(seen.metrics)), size=2),
        Layout(Panel(lines, title="last hour", title_align="left"), size=5 + (seen.series.share < 1)),
        Layout(name="work"),
        Layout(Panel(_nodes(nodes, now), title="nodes", title_align="left"), size=max(1, len(nodes)) + _FRAME),
        Layout(_keys(screen), size=1),
    )
    layout["work"].split_row(
        Layout(Panel(_running(seen, now), title=f"running: {seen.executions.total}", title_align="left"), ratio=3),
        Layout(Panel(_due(seen.fires, now), title="due next", title_align="left"), ratio=2),
    )
    return layout


def _headline(screen: Screen, now: datetime) -> Text:
    text = Text("tocsin ", style="bold", no_wrap=True).append(f"{screen.server}  ", style="not bold")
    if screen.trouble is not None:
        return text.append(visible(screen.trouble), style="bold red")
    if screen.seen is None:
        return text
    health = screen.seen.health
    text.append_text(state(health.status)).append(f", up {span(timedelta(seconds=health.uptime_seconds))}")
    text.append(f"  {now.astimezone():%H:%M:%S}", style="dim")
    return text.append(f"  {visible('; '.join(health.issues))}", style="yellow") if health.issues else text


def _queue(metrics: Metrics) -> Text:
    queue, system = metrics.queue, metrics.system
    text = Text(no_wrap=True)
    figures = (
        (f"{system.running}/{system.capacity}", "slots in use"),
        (queue.ready, "ready"),
        (queue.waiting, "waiting"),
        (queue.retrying, "retrying"),
        (queue.due_jobs, "due"),
        (sum(queue.unclaimed.values()), "unclaimed"),
        (percent(metrics.success_rate), "of the last hour succeeded"),
    )
    for value, words in figures:
        text.append(f"{value} ", style="bold").append(f"{words}  ", style="dim")
    return text


def _lines(series: Series, length: int) -> RenderableType:
    """Draw the newest buckets, at most `length` of them, as lines; what they come to is of all."""
    points, seconds = series.points, series.bucket.total_seconds()
    table = Table.grid(padding=(0, 2, 0, 0))
    ended = [each.completed + each.failed + each.timeout for each in points]
    failed = [each.failed + each.timeout for each in points]
    for name, values, style in (("ended", ended, "green"), ("failed", failed, "red")):
        rate = f"{_last(values) / seconds:,.1f}/s"
        table.add_row(name, Text(line(values[-length:]), style=style), rate, f"{sum(values):,}")
    late = [each.lateness_p99_ms for each in points]
    known = [each for each in late if each is not None]
    newest, most = (milliseconds(known[-1]), milliseconds(max(known))) if known else ("-", "-")
    table.add_row("late p99", Text(line(late[-length:]), style="yellow"), newest, f"at most {most}")
    if series.share < 1:
        table.add_row("", Text(f"estimated from {series.share:.1%} of the ledger", style="dim"))
    return table


def _last(values: Sequence[int]) -> int:
    """Take the newest bucket that is over: what there is in the one after it says nothing about a rate."""
    return values[-2] if len(values) > 1 else 0


def _running(seen: Seen, now: datetime) -> RenderableType:
    """Draw what runs, that which has run for longest first."""
    oldest = sorted(seen.executions.items, key=lambda each: each.started_at or now)
    return rows(
        ("job", "for", "attempt", "node"),
        (
            (
                seen.names.get(each.job_id, str(each.job_id)),
                None if each.started_at is None else span(now - each.started_at),
                each.attempt,
                each.worker_id,
            )
            for each in oldest
        ),
        empty="nothing",
    )


def _due(fires: UpcomingFires, now: datetime) -> RenderableType:
    return rows(
        ("when", "job"),
        ((relative(each.scheduled_at, now), each.name) for each in fires.fires),
        empty="nothing within the hour",
    )


def _nodes(workers: Sequence[Worker], now: datetime) -> RenderableType:
    return rows(
        ("id", "status", "running", "capacity", "heartbeat", "version"),
        (
            (
                each.id,
                status_of(each),
                each.running,
                each.capacity,
                relative(each.heartbeat_at, now),
                each.version,
            )
            for each in workers
        ),
        empty="none",
    )


def _keys(screen: Screen) -> Text:
    held = "p goes on (held still)" if screen.is_held else "p holds it still"
    return Text(f"q ends it  {held}", style="reverse" if screen.is_held else "dim")
