"""The commands put together, and what is said before any of them."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from .completion import complete_profile
from .exits import MEANINGS, reported
from .factories import Factories
from .output import FormOption, JsonOption
from .place import Place
from .sections import SECTIONS, new_group
from .session import Invocation, form_of

# \b keeps the lines below it as they are.
EXIT_CODES: Final = "\b\nExit codes:\n" + "\n".join(f"  {code:<3} {meaning}" for code, meaning in MEANINGS)


def create_cli(factories: Factories) -> typer.Typer:
    """Build the `tocsin` command; call what it answers to run it, which ends the process with an exit code."""
    app = new_group("A job scheduler that accounts for every fire.", epilog=EXIT_CODES, cls=_Program, completes=True)
    app.callback(context_settings={"obj": factories})(_open)
    return app


class _Program(TyperGroup):
    """All commands by their first names; a section is imported once one of its commands is asked for."""

    # The library's own words for a context and a command differ from version to version.
    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
        """Find a command; what is no command is compared to all of them, to tell what may be meant."""
        for name in [cmd_name] if cmd_name in SECTIONS else SECTIONS:
            if name not in self.commands:
                self.commands.update(get_group(SECTIONS[name].commands()).commands)
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - as above
        """List all of them."""
        return [*SECTIONS]


def _show_version(context: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - Typer calls this
    if wanted:
        factories: Factories = context.obj
        typer.echo(f"tocsin {factories.version}")
        raise typer.Exit


ShowVersionOption = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show which version this is.")
]


def _open(
    context: typer.Context,
    *,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where the node listens; else TOCSIN_SERVER, else the profile in use."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The server of this profile; else TOCSIN_PROFILE.", autocompletion=complete_profile
        ),
    ] = None,
    as_json: JsonOption = False,
    form: FormOption = None,
    version: ShowVersionOption = False,  # noqa: ARG001 - it has ended the program by now
) -> None:
    """Keep what was said before the command's name."""
    with reported():
        chosen = form_of(as_json=as_json, form=form)
    context.obj = Invocation(factories=context.obj, place=Place(server=server, profile=profile), form=chosen)
