"""Where each command is, and how it is put among the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final

import typer
from typer.core import TyperGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """
    Commands that are imported together, once one of them is asked for.

    Each of the `modules` registers its own. Those of a section with a `name` are a group of that name, about which
    `words` tell; without, they are the program's. `within` are the groups in a group.
    """

    modules: tuple[str, ...]
    name: str | None = None
    words: str = ""
    within: tuple[Section, ...] = ()
    shows_help: bool = True

    def commands(self) -> typer.Typer:
        """Import them, under their first names."""
        if self.name is None:
            return self.group()
        section = new_group("")
        section.add_typer(self.group(), name=self.name)
        return section

    def group(self) -> typer.Typer:
        """Import them, without the name of the section."""
        group = new_group(self.words, shows_help=self.shows_help)
        for module in self.modules:
            import_module(f".{module}", __package__).register(group)
        for each in self.within:
            group.add_typer(each.group(), name=each.name)
        return group


_PROGRAM: Final = Section(modules=("program",))
_LOCAL: Final = Section(modules=("local",))
_NODE: Final = Section(modules=("node",))
_DECLARATIVE: Final = Section(modules=("apply", "export"))
_RULES: Final = Section(modules=("event_handlers",), name="handlers", words="The standing rules about events.")

SECTIONS: Final[Mapping[str, Section]] = MappingProxyType(
    {
        "serve": _PROGRAM,
        "settings": _LOCAL,
        "preview": _LOCAL,
        "version": _PROGRAM,
        "watch": Section(modules=("following",)),
        "metrics": _NODE,
        "top": Section(modules=("top",)),
        "series": Section(modules=("series",)),
        "health": _NODE,
        "doctor": Section(modules=("doctor",)),
        "migrate": Section(modules=("migrations",), name="migrate", words="The schema of the database."),
        "jobs": Section(
            modules=("jobs", "overviews", "job_definitions", "job_commands", "bulk"),
            name="jobs",
            words="What is to run, when, and under which rules.",
        ),
        "executions": Section(modules=("executions",), name="executions", words="What ran, and running it again."),
        "events": Section(
            modules=("event_on", "event_trying", "events"),
            name="events",
            words="What happens elsewhere, and what is to follow from it.",
            within=(_RULES,),
        ),
        "ledger": Section(modules=("ledger",), name="ledger", words="Whether every nominal time is accounted for."),
        "apply": _DECLARATIVE,
        "export": _DECLARATIVE,
        "import": Section(modules=("import_crontab",), name="import", words="Carry other schedulers' files over."),
        "workers": Section(
            modules=("workers",),
            name="workers",
            words="List the nodes, newest heartbeat first; drain one, or have it take work again.",
            shows_help=False,
        ),
        "profiles": Section(
            modules=("profile_commands",), name="profiles", words="Several servers, under names of your own."
        ),
    }
)
"""What makes each command, in the order in which they are listed; it is imported once it is asked for."""


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
