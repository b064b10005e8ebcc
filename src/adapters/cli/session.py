"""What a command works with: where it prints, what it drives, and how both reach it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, ParamSpec, TypeVar, get_type_hints
from urllib.parse import urlsplit

import typer

from ...domain.errors import InvalidInput, InvalidJob
from .exits import REMOTE_ADVICE, Advice, reported
from .factories import Factories

# Most commands print for machines, or nothing, and some drive nothing.
if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...ports.scheduler import IScheduler
    from ...ports.stores import Page

DEFAULT_SERVER: Final = "http://127.0.0.1:8080"

# Tables are cut to a terminal's width, but a pipe has none and must get everything.
_PIPE_WIDTH: Final = 10_000

P = ParamSpec("P")
T = TypeVar("T")

ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="Where the node listens, for this command.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, as the HTTP API has it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where answers go: JSON for machines, or tables for people, coloured only on a terminal."""

    json: bool

    def show(self, value: T, draw: Callable[[T], RenderableType]) -> None:
        """Print one answer."""
        if self.json:
            typer.echo(_encoded(value))
        else:
            self.print(draw(value))

    def say(self, value: T, words: str) -> None:
        """Print one answer that a line of text gives as well."""
        typer.echo(_encoded(value) if self.json else words)

    def show_line(self, value: T, draw: Callable[[T], RenderableType]) -> None:
        """Print one of many answers that come one by one; as JSON each has one line."""
        if self.json:
            from .documents import encode_line  # noqa: PLC0415 - see above

            typer.echo(encode_line(value))
        else:
            self.print(draw(value))

    def show_page(self, page: Page[T], draw: Callable[[Page[T]], RenderableType]) -> None:
        """Print part of a list, and how to get at the rest."""
        self.show(page, draw)
        if len(page.items) < page.total:
            rest = f"; go on with --cursor {page.next_cursor}" if page.next_cursor else ""
            self.note(f"{len(page.items)} of {page.total}{rest}")

    def print(self, *drawn: RenderableType) -> None:
        """Print for people; text is shown as it is, never read as markup."""
        from rich.console import Console  # noqa: PLC0415 - see above

        console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
        if not console.is_terminal:
            console.width = _PIPE_WIDTH
        with console.capture() as captured:
            console.print(*drawn, sep="\n")
        for line in captured.get().splitlines():
            typer.echo(line.rstrip())

    def note(self, text: str) -> None:
        """Tell people something beside the answer, on stderr; machines are not told."""
        if not self.json:
            typer.echo(text, err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """What a command without a server works with."""

    factories: Factories
    output: Output

    @property
    def now(self) -> datetime:
        """Read this machine's clock."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Local):
    """What a remote command works with: `connect` opens the scheduler behind `server`."""

    server: str

    def connect(self) -> AbstractAsyncContextManager[IScheduler]:
        """
        Open the scheduler.

        Raises:
            InvalidInput: `server` is not the URL of one.
        """
        return self.factories.connect(_checked(self.server))


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What was said before the command's name: it holds for every command."""

    factories: Factories
    server: str
    json: bool


def local(command: Callable[Concatenate[Local, ...], None]) -> Callable[..., None]:
    """Make a command of a function that needs no server; it gains `--json`."""

    @wraps(command)
    def run(context: typer.Context, as_json: bool, **options: Any) -> None:  # noqa: ANN401, FBT001 - Typer calls this
        invocation: Invocation = context.obj
        output = Output(json=as_json or invocation.json)
        with reported():
            command(Local(factories=invocation.factories, output=output), **options)

    return _signed(run, command, as_json=JsonOption)


def remote(
    command: Callable[Concatenate[Session, ...], Coroutine[Any, Any, None]], *, advice: Advice = REMOTE_ADVICE
) -> Callable[..., None]:
    """Make a command of a coroutine that speaks to a server; it gains `--server` and `--json`."""

    @wraps(command)
    def run(context: typer.Context, server: str | None, as_json: bool, **options: Any) -> None:  # noqa: ANN401, FBT001
        invocation: Invocation = context.obj
        session = Session(
            factories=invocation.factories,
            output=Output(json=as_json or invocation.json),
            server=server or invocation.server,
        )
        import asyncio  # noqa: PLC0415 - see above

        with reported(advice):
            asyncio.run(command(session, **options))

    return _signed(run, command, server=ServerOption, as_json=JsonOption)


def when_alone(command: Callable[..., None]) -> Callable[..., None]:
    """Make a remote command what its group does by itself; said before another command, its options hold for that."""

    @wraps(command)
    def run(context: typer.Context, server: str | None, as_json: bool) -> None:  # noqa: FBT001 - Typer calls this
        if context.invoked_subcommand is None:
            command(context=context, server=server, as_json=as_json)
        else:
            said: Invocation = context.obj
            context.obj = replace(said, server=server or said.server, json=as_json or said.json)

    return run


def querying(command: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, Coroutine[Any, Any, None]]:
    """
    Make what a command finds wrong with its query an input that is not valid, since no job is.

    Raises (the command):
        InvalidInput: a bound of paging or of a filter is broken.
    """

    @wraps(command)
    async def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            await command(*arguments, **options)
        except InvalidJob as error:
            raise InvalidInput(error.errors) from None

    return run


def _signed(run: Callable[..., None], command: Callable[..., Any], **gained: Any) -> Callable[..., None]:  # noqa: ANN401
    """Show Typer the options of the command itself, less the session, plus those it gained."""
    hints = get_type_hints(command, include_extras=True)
    _, *own = inspect.signature(command).parameters.values()
    empty = {JsonOption: False}
    parameters = [
        inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name]) for each in own),
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=empty.get(hint))
            for name, hint in gained.items()
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _encoded(value: object) -> str:
    from .documents import encode  # noqa: PLC0415 - see above

    return encode(value)


def _checked(server: str) -> str:
    expected = f"must be an http or https URL such as {DEFAULT_SERVER}"
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        raise InvalidInput.of("server", expected) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise InvalidInput.of("server", expected)
    return server
