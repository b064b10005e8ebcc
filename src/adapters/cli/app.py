"""The commands put together, and what is said before any of them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from . import (
    event_handlers,
    event_on,
    events,
    executions,
    following,
    import_crontab,
    job_commands,
    job_definitions,
    jobs,
    ledger,
    local,
    node,
)
from .exits import MEANINGS
from .factories import Factories
from .session import DEFAULT_SERVER, Invocation, JsonOption

# \b keeps the lines below it as they are.
EXIT_CODES: Final = "\b\nExit codes:\n" + "\n".join(f"  {code:<3} {meaning}" for code, meaning in MEANINGS)


def create_cli(factories: Factories) -> typer.Typer:
    """Build the `tocsin` command; call what it answers to run it, which ends the process with an exit code."""
    app = _group("A job scheduler that accounts for every fire.", epilog=EXIT_CODES)
    app.callback(context_settings={"obj": factories})(_open)
    migrate = _group("The schema of the database.")
    local.register(app, migrate)
    app.add_typer(migrate, name="migrate")
    app.add_typer(_jobs(), name="jobs")
    runs = _group("What ran, and running it again.")
    executions.register(runs)
    app.add_typer(runs, name="executions")
    app.add_typer(_events(), name="events")
    following.register(app)
    proof = _group("Whether every nominal time is accounted for.")
    ledger.register(proof)
    app.add_typer(proof, name="ledger")
    imports = _group("Carry other schedulers' files over.")
    import_crontab.register(imports)
    app.add_typer(imports, name="import")
    workers = _group("List the nodes, newest heartbeat first; drain one, or have it take work again.", shows_help=False)
    node.register(app, workers)
    app.add_typer(workers, name="workers")
    return app


def _jobs() -> typer.Typer:
    group = _group("What is to run, when, and under which rules.")
    for module in (jobs, job_definitions, job_commands):
        module.register(group)
    return group


def _events() -> typer.Typer:
    group = _group("What happens elsewhere, and what is to follow from it.")
    rules = _group("The standing rules about events.")
    event_on.register(group)
    events.register(group)
    event_handlers.register(rules)
    group.add_typer(rules, name="handlers")
    return group


def _group(words: str, epilog: str | None = None, *, shows_help: bool = True) -> typer.Typer:
    return typer.Typer(
        help=words,
        epilog=epilog,
        no_args_is_help=shows_help,
        add_completion=False,
        # Errors are a few plain lines, the same ones for a person and for a log.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def _show_version(context: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - Typer calls this
    if wanted:
        factories: Factories = context.obj
        typer.echo(f"tocsin {factories.version}")
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show which version this is.")
]


def _open(
    context: typer.Context,
    *,
    server: Annotated[
        str, typer.Option(metavar="URL", envvar="TOCSIN_SERVER", help="Where the node listens.")
    ] = DEFAULT_SERVER,
    as_json: JsonOption = False,
    version: VersionOption = False,  # noqa: ARG001 - it has ended the program by now
) -> None:
    """Keep what was said before the command's name."""
    context.obj = Invocation(factories=context.obj, server=server, json=as_json)
