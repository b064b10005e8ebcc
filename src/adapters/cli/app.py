"""The commands put together, and what is said before any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from .exits import MEANINGS
from .factories import Factories
from .session import DEFAULT_SERVER, Invocation, JsonOption

# \b keeps the lines below it as they are.
EXIT_CODES: Final = "\b\nExit codes:\n" + "\n".join(f"  {code:<3} {meaning}" for code, meaning in MEANINGS)


def create_cli(factories: Factories) -> typer.Typer:
    """Build the `tocsin` command; call what it answers to run it, which ends the process with an exit code."""
    app = _group("A job scheduler that accounts for every fire.", epilog=EXIT_CODES, cls=_Program)
    app.callback(context_settings={"obj": factories})(_open)
    return app


class _Program(TyperGroup):
    """All commands by their first names; a section is imported once one of its commands is asked for."""

    # The library's own words for a context and a command differ from version to version.
    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
        """Find a command; what is no command is compared to all of them, to tell what may be meant."""
        for name in [cmd_name] if cmd_name in SECTIONS else SECTIONS:
            if name not in self.commands:
                self.commands.update(get_group(SECTIONS[name]()).commands)
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - as above
        """List all of them."""
        return [*SECTIONS]


def _commands() -> typer.Typer:
    from . import program  # noqa: PLC0415 - see _Program

    group = _group("")
    program.register(group)
    return group


def _local() -> typer.Typer:
    from . import local  # noqa: PLC0415 - see _Program

    group = _group("")
    migrate = _group("The schema of the database.")
    local.register(group, migrate)
    group.add_typer(migrate, name="migrate")
    return group


def _following() -> typer.Typer:
    from . import following  # noqa: PLC0415 - see _Program

    group = _group("")
    following.register(group)
    return group


def _nodes() -> typer.Typer:
    from . import node  # noqa: PLC0415 - see _Program

    group = _group("")
    workers = _group("List the nodes, newest heartbeat first; drain one, or have it take work again.", shows_help=False)
    node.register(group, workers)
    group.add_typer(workers, name="workers")
    return group


def _jobs() -> typer.Typer:
    from . import job_commands, job_definitions, jobs  # noqa: PLC0415 - see _Program

    group = _group("What is to run, when, and under which rules.")
    for module in (jobs, job_definitions, job_commands):
        module.register(group)
    return _only(group, "jobs")


def _executions() -> typer.Typer:
    from . import executions  # noqa: PLC0415 - see _Program

    group = _group("What ran, and running it again.")
    executions.register(group)
    return _only(group, "executions")


def _events() -> typer.Typer:
    from . import event_handlers, event_on, events  # noqa: PLC0415 - see _Program

    group = _group("What happens elsewhere, and what is to follow from it.")
    rules = _group("The standing rules about events.")
    event_on.register(group)
    events.register(group)
    event_handlers.register(rules)
    group.add_typer(rules, name="handlers")
    return _only(group, "events")


def _ledger() -> typer.Typer:
    from . import ledger  # noqa: PLC0415 - see _Program

    group = _group("Whether every nominal time is accounted for.")
    ledger.register(group)
    return _only(group, "ledger")


def _imports() -> typer.Typer:
    from . import import_crontab  # noqa: PLC0415 - see _Program

    group = _group("Carry other schedulers' files over.")
    import_crontab.register(group)
    return _only(group, "import")


SECTIONS: Final[Mapping[str, Callable[[], typer.Typer]]] = MappingProxyType(
    {
        "serve": _commands,
        "settings": _local,
        "preview": _local,
        "version": _commands,
        "watch": _following,
        "metrics": _nodes,
        "health": _nodes,
        "migrate": _local,
        "jobs": _jobs,
        "executions": _executions,
        "events": _events,
        "ledger": _ledger,
        "import": _imports,
        "workers": _nodes,
    }
)
"""Where each command is, in the order in which they are listed."""


def _only(group: typer.Typer, name: str) -> typer.Typer:
    """Make a section of one group."""
    section = _group("")
    section.add_typer(group, name=name)
    return section


def _group(
    words: str, epilog: str | None = None, *, cls: type[TyperGroup] | None = None, shows_help: bool = True
) -> typer.Typer:
    return typer.Typer(
        help=words,
        epilog=epilog,
        cls=cls,
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
