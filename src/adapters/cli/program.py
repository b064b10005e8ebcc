"""The program itself: `tocsin serve` and `version`. A node keeps what this module imports for as long as it lives."""

from __future__ import annotations

from typing import Annotated

import typer

from .factories import NodeOptions
from .options import ConfigOption, DatabaseOption, RedisOption, split_list
from .session import Local, local


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("serve")(local(serve))
    app.command("version")(local(version))


def serve(
    desk: Local,
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on; else 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; else 8080.")] = None,
    database_url: DatabaseOption = None,
    redis_url: RedisOption = None,
    handlers: Annotated[
        list[str] | None, typer.Option(metavar="MODULE,…", help="Modules to import, which register handlers.")
    ] = None,
    roles: Annotated[
        list[str] | None, typer.Option(metavar="ROLE,…", help="Some of api, timer, executor, sweeper; else all.")
    ] = None,
    samples: Annotated[bool | None, typer.Option("--samples", help="Make the sample jobs.")] = None,
    allow_commands: Annotated[
        bool | None, typer.Option("--allow-commands", help="Let jobs run commands of the operating system.")
    ] = None,
    allow_remote: Annotated[
        bool | None,
        typer.Option("--unsafe-allow-remote", help="Listen beyond loopback although nobody is authenticated."),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Executions to run at once.")] = None,
    drain_seconds: Annotated[
        float | None, typer.Option(metavar="N", help="How long a stop waits for running work.")
    ] = None,
    log_format: Annotated[str | None, typer.Option(help="console or json.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    config: ConfigOption = None,
) -> None:
    """
    Run a node until it is told to stop.

    `tocsin settings` lists what else can be set, by environment or file.
    """
    options = NodeOptions(
        config=config,
        host=host,
        port=port,
        database_url=database_url,
        redis_url=redis_url,
        handlers=split_list(handlers),
        roles=split_list(roles),
        samples=samples,
        allow_commands=allow_commands,
        allow_remote=allow_remote,
        concurrency=concurrency,
        drain_seconds=drain_seconds,
        log_format=log_format,
        log_level=log_level,
    )
    raise typer.Exit(desk.factories.serve(options))


def version(desk: Local) -> None:
    """Show which version this is."""
    desk.output.say({"version": desk.factories.version}, f"tocsin {desk.factories.version}")
