"""`tocsin series`: how much was done, and how late, over time."""

from __future__ import annotations

from typing import Annotated

import typer

from ...ports.reports import Period
from .overview_views import over_time
from .session import Session, remote


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("series")(remote(series, watchable=True))


async def series(
    session: Session, *, period: Annotated[Period, typer.Option(help="How far back to look.")] = Period.DAY
) -> None:
    """
    Show what ran over a period, as lines.

    With what failed and was skipped, and how late it began.
    """
    async with session.connect() as scheduler:
        found = await scheduler.get_series(period)
    session.output.show(found, over_time)
