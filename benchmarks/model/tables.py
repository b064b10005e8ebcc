"""What a person reads of the model and of what was played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from .model import DATABASE, FULL, NODE, PIPE, STAGES, Costs, engines
from .played import Played

WIDTH: Final = 140


def tell(found: Mapping[str, Any]) -> None:
    """Print what stages cost, and what follows."""
    console = Console()
    console.width = max(console.width, WIDTH)
    machine = found["machine"]
    where = f"{machine['date']}, {machine['cores']} cores, {machine['processor']}"
    title = f"{where}: microseconds, alone / in batches of {FULL}"
    table = Table("engine", "process", *STAGES, "running", "whole", title=title)
    for engine in engines(found):
        costs = Costs.read(engine, found)
        for process in (NODE, DATABASE, PIPE):
            if any(process in costs.stages[stage] for stage in STAGES):
                table.add_row(engine, process, *_cells(costs, process))
    console.print(table)
    follows = Table("engine", "fires a second of a node", "of a core of the database", "of one Redis", "log, bytes")
    for engine in engines(found):
        costs = Costs.read(engine, found)
        rates = (costs.node_rate, lambda rows, c=costs: c.database_rate(1, rows=rows), costs.pipe_rate)
        cells = [f"{rate(1):,.0f} / {rate(FULL):,.0f}" for rate in rates]
        follows.add_row(engine, *cells, f"{costs.log_per_fire(1):,.0f} / {costs.log_per_fire():,.0f}")
    console.print(follows)
    for check in found["checks"]:
        console.print(check)


def show(results: Sequence[Played]) -> None:
    """Print what was played."""
    console = Console()
    console.width = max(console.width, WIDTH)
    heads = (
        "fires",
        "p50",
        "p99",
        "last",
        "database",
        "nodes",
        "pipe",
        "rows a call",
        "vain looks/s",
        "took",
        "simulated in",
    )
    table = Table("play", "engine", "fleet", *heads)
    for each in results:
        late = (f"{value * 1000:,.1f} ms" for value in (each.p50, each.p99, each.most))
        busy = (f"{value:.0%}" for value in (each.database, each.nodes, each.pipe))
        took = (f"{each.rows:.1f}", f"{each.looks:,.0f}", f"{each.seconds:,.1f} s", f"{each.own:.1f} s")
        table.add_row(each.play, each.engine, each.name, f"{each.fires:,}", *late, *busy, *took)
    console.print(table)


def _cells(costs: Costs, process: str) -> list[str]:
    lines = [costs.line(stage, process) for stage in STAGES]
    cells = [f"{line.per_row(1) * 1e6:,.0f} / {line.per_row(FULL) * 1e6:,.1f}" for line in lines]
    running = f"{costs.running * 1e6:,.1f}" if process == NODE else ""
    return [*cells, running, f"{costs.per_fire(process, 1) * 1e6:,.0f} / {costs.per_fire(process) * 1e6:,.1f}"]
