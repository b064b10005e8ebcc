"""Where answers go: tables for people, coloured on a terminal, or one of the forms that machines read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

# Most commands print for machines, or nothing.
if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ...ports.stores import Page

# Tables are cut to a terminal's width, but a pipe has none and must get everything.
_PIPE_WIDTH: Final = 10_000

T = TypeVar("T")


class Form(StrEnum):
    """How an answer is written: for people, as the HTTP API has it, as rows of text, or by its ids alone."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    IDS = "ids"


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, as the HTTP API has it; short for -o json.")]
FormOption = Annotated[
    Form | None, typer.Option("--output", "-o", help="How to print; ids has one of them in each line.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where answers go, and in which form; `columns` are those that the first of many answers had as CSV."""

    form: Form = Form.TABLE
    columns: list[str] = field(default_factory=list)

    @property
    def for_people(self) -> bool:
        """Whether somebody reads it, so that names are worth looking up."""
        return self.form is Form.TABLE

    def show(self, value: T, draw: Callable[[T], RenderableType]) -> None:
        """Print one answer."""
        if self.for_people:
            self.print(draw(value))
        else:
            self._write(value)

    def say(self, value: T, words: str) -> None:
        """Print one answer that a line of text gives as well."""
        if self.for_people:
            typer.echo(words)
        else:
            self._write(value)

    def show_line(self, value: T, draw: Callable[[T], RenderableType]) -> None:
        """Print one of many answers that come one by one; as JSON each has one line."""
        if self.form is Form.JSON:
            from .documents import encode_line  # noqa: PLC0415 - see above

            typer.echo(encode_line(value))
        else:
            self.show(value, draw)

    def show_page(self, page: Page[T], draw: Callable[[Page[T]], RenderableType]) -> None:
        """Print part of a list, and how to get at the rest."""
        self.show(page, draw)
        if len(page.items) < page.total:
            rest = f"; go on with --cursor {page.next_cursor}" if page.next_cursor else ""
            self.note(f"{len(page.items)} of {page.total}{rest}")

    def print(self, *drawn: RenderableType) -> None:
        """Print for people; text is shown as it is, never read as markup."""
        _print(drawn, is_aside=False)

    def show_before(self, drawn: RenderableType) -> None:
        """Print what somebody is about to be asked about: on stderr where stdout is for machines."""
        _print([drawn], is_aside=not self.for_people)

    def refuse_ids(self) -> None:
        """
        Refuse, before anything is done, a form that cannot show what will be answered.

        Raises:
            InvalidInput: ids alone are asked for, and the answer bears none.
        """
        if self.form is Form.IDS:
            from .records import without_ids  # noqa: PLC0415 - see above

            raise without_ids()

    def note(self, text: str) -> None:
        """Tell people something beside the answer, on stderr; machines are not told."""
        if self.for_people:
            typer.echo(text, err=True)

    def _write(self, value: object) -> None:
        from . import records  # noqa: PLC0415 - see above

        match self.form:
            case Form.CSV:
                text = records.as_csv(value, self.columns)
            case Form.IDS:
                text = records.as_ids(value)
            case _:
                text = records.as_json(value)
        if text:
            typer.echo(text)


def _print(drawn: Sequence[RenderableType], *, is_aside: bool) -> None:
    console = plain_console()
    with console.capture() as captured:
        console.print(*drawn, sep="\n")
    for line in captured.get().splitlines():
        # Else what FORCE_COLOR asked for would be taken out again.
        typer.echo(line.rstrip(), color=console.is_terminal, err=is_aside)


def plain_console() -> Console:
    """Make a console on stdout that reads no markup; NO_COLOR, FORCE_COLOR and TERM are obeyed."""
    from rich.console import Console  # noqa: PLC0415 - see above

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console
