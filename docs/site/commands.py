"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final, cast

from typer.main import get_command

from docs.site.markdown import code, fenced, plain, table
from tocsin.adapters.cli import create_cli
from tocsin.adapters.cli.factories import Factories

INTRODUCTION: Final = """\
# Command line

Every command says the same of itself with `--help`. What most commands share ({shared}) is left out of the tables
below: where the node listens, how to print, and to print again and again.

"""

_SHARED: Final = ("--server", "--profile", "--json", "--output", "--watch", "--help")


def page() -> str:
    """Write the page."""
    shared = ", ".join(map(code, _SHARED))
    return INTRODUCTION.format(shared=shared) + "".join(_described(_program(), "tocsin", None))


def options_of(name: str) -> list[str]:
    """List the long options of a command of the program."""
    context = _context(_program(), "tocsin", None)
    command = context.command.get_command(context, name)
    return [each for option in command.get_params(context) for each in option.opts if each.startswith("--")]


def _program() -> Any:  # noqa: ANN401 - the library's own words differ from version to version
    # Nothing is called: a command is only asked what it takes.
    return get_command(create_cli(cast("Factories", None)))


def _context(command: Any, name: str, parent: Any) -> Any:  # noqa: ANN401 - as above
    return command.make_context(name, [], parent=parent, resilient_parsing=True)


def _described(command: Any, name: str, parent: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    context = _context(command, name, parent)
    below = [(each, command.get_command(context, each)) for each in _names(command, context)]
    if parent is not None:
        depth = 2 if parent.parent is None else 3
        yield f"{'#' * min(depth, 3)} {context.command_path}\n\n"
    yield from _words(command, context)
    for each, sub in below:
        if not sub.hidden:
            yield from _described(sub, each, context)


def _names(command: Any, context: Any) -> list[str]:  # noqa: ANN401 - as above
    return list(command.list_commands(context)) if hasattr(command, "list_commands") else []


def _words(command: Any, context: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    for paragraph in inspect.cleandoc((command.help or "").partition("\f")[0]).split("\n\n"):
        yield fenced(paragraph.removeprefix("\b\n")) if paragraph.startswith("\b") else f"{plain(paragraph)}\n\n"
    yield fenced(re.sub(r"\s+", " ", " ".join([context.command_path, *command.collect_usage_pieces(context)])))
    rows = [
        (code(record[0]), plain(record[1]))
        for parameter in command.get_params(context)
        if not set(parameter.opts) & set(_SHARED) and (record := parameter.get_help_record(context))
    ]
    if rows:
        yield table(("option", ""), rows)
    if command.epilog:
        yield fenced(command.epilog.replace("\b\n", ""), "sh" if "Example" in command.epilog else "text")
