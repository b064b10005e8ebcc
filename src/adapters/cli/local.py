"""What needs no server, only this machine: `tocsin settings` and `preview`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ...domain.schedule import Once
from ...ports.scheduler import Timing
from .factories import NodeOptions
from .instants import is_relative, optional_bound, read_instant
from .job_views import fires
from .node_views import setting_list
from .options import AfterOption, ConfigOption, CountOption
from .session import Local, local

PREVIEW_EXAMPLE: Final = 'Example: tocsin preview "0 2 * * *" --timezone Europe/Berlin'


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("settings")(local(settings))
    app.command("preview", epilog=PREVIEW_EXAMPLE)(local(preview))


def settings(desk: Local, *, config: ConfigOption = None) -> None:
    """List every setting, its value and its source."""
    found = desk.factories.settings(NodeOptions(config=config))
    desk.output.show(found, setting_list)


def preview(
    desk: Local,
    schedule: Annotated[
        str, typer.Argument(metavar="SCHEDULE", help='A cron, "every 15m", PT6H, an instant, "in 10m" or now.')
    ],
    *,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="IANA name, such as Europe/Berlin.")] = "UTC",
    count: CountOption = 10,
    after: AfterOption = None,
) -> None:
    """Show when a schedule fires, without any server."""
    instant = optional_bound(after, "after") or desk.now
    written = str(Once(at=read_instant(schedule, "schedule"))) if is_relative(schedule) else schedule
    found = desk.factories.preview(Timing(schedule=written, timezone=timezone), after=instant, count=count)
    desk.output.show(found, fires)
