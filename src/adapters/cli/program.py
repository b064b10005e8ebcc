"""The program itself: `tocsin serve` and `version`. A node keeps what this module imports for as long as it lives."""

from __future__ import annotations

import typer

from .factories import NodeOptions
from .session import Local, local


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("serve")(local(serve))
    app.command("version")(local(version))


def serve(desk: Local, *, options: NodeOptions) -> None:
    """
    Run a node until it is told to stop.

    `tocsin settings` lists what else can be set, by environment or file.
    """
    raise typer.Exit(desk.factories.serve(options))


def version(desk: Local) -> None:
    """Show which version this is."""
    desk.output.say({"version": desk.factories.version}, f"tocsin {desk.factories.version}")
