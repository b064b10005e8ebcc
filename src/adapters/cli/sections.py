"""Where each command is, and how it is put among the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import typer
from typer.core import TyperGroup


def _commands() -> typer.Typer:
    from . import program  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    program.register(group)
    return group


def _local() -> typer.Typer:
    from . import local  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    migrate = new_group("The schema of the database.")
    local.register(group, migrate)
    group.add_typer(migrate, name="migrate")
    return group


def _following() -> typer.Typer:
    from . import following  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    following.register(group)
    return group


def _nodes() -> typer.Typer:
    from . import node  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    workers = new_group(
        "List the nodes, newest heartbeat first; drain one, or have it take work again.", shows_help=False
    )
    node.register(group, workers)
    group.add_typer(workers, name="workers")
    return group


def _overviews() -> typer.Typer:
    from . import overviews  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    overviews.register_series(group)
    return group


def _top() -> typer.Typer:
    from . import top  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    top.register(group)
    return group


def _doctor() -> typer.Typer:
    from . import doctor  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    doctor.register(group)
    return group


def _jobs() -> typer.Typer:
    from . import bulk, job_commands, job_definitions, jobs, overviews  # noqa: PLC0415 - see SECTIONS

    group = new_group("What is to run, when, and under which rules.")
    for module in (jobs, overviews, job_definitions, job_commands, bulk):
        module.register(group)
    return _only(group, "jobs")


def _executions() -> typer.Typer:
    from . import executions  # noqa: PLC0415 - see SECTIONS

    group = new_group("What ran, and running it again.")
    executions.register(group)
    return _only(group, "executions")


def _events() -> typer.Typer:
    from . import event_handlers, event_on, event_trying, events  # noqa: PLC0415 - see SECTIONS

    group = new_group("What happens elsewhere, and what is to follow from it.")
    rules = new_group("The standing rules about events.")
    event_on.register(group)
    event_trying.register(group)
    events.register(group)
    event_handlers.register(rules)
    group.add_typer(rules, name="handlers")
    return _only(group, "events")


def _ledger() -> typer.Typer:
    from . import ledger  # noqa: PLC0415 - see SECTIONS

    group = new_group("Whether every nominal time is accounted for.")
    ledger.register(group)
    return _only(group, "ledger")


def _profiles() -> typer.Typer:
    from . import profile_commands  # noqa: PLC0415 - see SECTIONS

    group = new_group("Several servers, under names of your own.")
    profile_commands.register(group)
    return _only(group, "profiles")


def _declarative() -> typer.Typer:
    from . import apply, export  # noqa: PLC0415 - see SECTIONS

    group = new_group("")
    for module in (apply, export):
        module.register(group)
    return group


def _imports() -> typer.Typer:
    from . import import_crontab  # noqa: PLC0415 - see SECTIONS

    group = new_group("Carry other schedulers' files over.")
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
        "top": _top,
        "series": _overviews,
        "health": _nodes,
        "doctor": _doctor,
        "migrate": _local,
        "jobs": _jobs,
        "executions": _executions,
        "events": _events,
        "ledger": _ledger,
        "apply": _declarative,
        "export": _declarative,
        "import": _imports,
        "workers": _nodes,
        "profiles": _profiles,
    }
)
"""What makes each command, in the order in which they are listed; it is imported once it is asked for."""


def _only(group: typer.Typer, name: str) -> typer.Typer:
    """Make a section of one group."""
    section = new_group("")
    section.add_typer(group, name=name)
    return section


def new_group(
    words: str,
    epilog: str | None = None,
    *,
    cls: type[TyperGroup] | None = None,
    shows_help: bool = True,
    completes: bool = False,
) -> typer.Typer:
    """Make an empty group of commands; one that `completes` is the whole program."""
    return typer.Typer(
        help=words,
        epilog=epilog,
        cls=cls,
        no_args_is_help=shows_help,
        add_completion=completes,
        # Errors are a few plain lines, the same ones for a person and for a log.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
