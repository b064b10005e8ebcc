"""What a command works with: where it prints, what it drives, and how both reach it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, ParamSpec, get_type_hints

import typer

from ...domain.errors import InvalidInput, InvalidJob
from .completion import complete_profile
from .exits import REMOTE_ADVICE, Advice, reported
from .factories import Factories
from .option_groups import gathered, groups_of, parameter, parts
from .output import Form, FormOption, JsonOption, Output
from .place import Place

# Most commands print for machines, or nothing, and some drive nothing.
if TYPE_CHECKING:
    from ...ports.scheduler import IScheduler

P = ParamSpec("P")

ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="Where the node listens, for this command.")
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="The server of this profile, for this command.",
        autocompletion=complete_profile,
    ),
]
WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", help="Show it anew every two seconds, on a terminal, until Ctrl-C.")
]


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
    """What a remote command works with: `connect` opens the scheduler at `place`."""

    place: Place

    def connect(self) -> AbstractAsyncContextManager[IScheduler]:
        """
        Open the scheduler.

        Raises:
            InvalidInput: as for `Place.address`.
        """
        return self.factories.connect(self.place.address())


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What was said before the command's name: it holds for every command, unless that says otherwise."""

    factories: Factories
    place: Place
    form: Form | None

    def output(self, *, as_json: bool, form: Form | None) -> Output:
        """
        Settle where the answer of a command goes.

        Raises:
            InvalidInput: it is asked for in two forms.
        """
        return Output(form=form_of(as_json=as_json, form=form) or self.form or Form.TABLE)

    def place_of(self, server: str | None, profile: str | None) -> Place:
        """Settle which server a command means."""
        return Place(server=server, profile=profile) or self.place


def form_of(*, as_json: bool, form: Form | None) -> Form | None:
    """
    Settle the form that two options may name.

    Raises:
        InvalidInput: they name different ones.
    """
    if as_json and form not in {None, Form.JSON}:
        raise InvalidInput.of("output", "cannot go with --json; name one of the two")
    return Form.JSON if as_json else form


def local(command: Callable[Concatenate[Local, ...], None]) -> Callable[..., None]:
    """Make a command of a function that needs no server; it gains `--json` and `--output`."""
    groups = groups_of(command)

    @wraps(command)
    def run(context: typer.Context, *, as_json: bool, form: Form | None, **options: Any) -> None:  # noqa: ANN401
        invocation: Invocation = context.obj
        with reported():
            output = invocation.output(as_json=as_json, form=form)
            command(Local(factories=invocation.factories, output=output), **gathered(groups, options))

    return _signed(run, command, as_json=JsonOption, form=FormOption)


def remote(
    command: Callable[Concatenate[Session, ...], Coroutine[Any, Any, None]],
    *,
    advice: Advice = REMOTE_ADVICE,
    watchable: bool = False,
) -> Callable[..., None]:
    """Make a command of a coroutine that speaks to a server; it gains the options about where and how."""
    groups = groups_of(command)

    @wraps(command)
    def run(
        context: typer.Context,
        *,
        server: str | None,
        profile: str | None,
        as_json: bool,
        form: Form | None,
        watch: bool = False,
        **options: Any,  # noqa: ANN401
    ) -> None:
        import asyncio  # noqa: PLC0415 - see above

        invocation: Invocation = context.obj
        with reported(advice):
            session = Session(
                factories=invocation.factories,
                output=invocation.output(as_json=as_json, form=form),
                place=invocation.place_of(server, profile),
            )
            told = gathered(groups, options)
            asyncio.run(_repeated(command, session, told) if watch else command(session, **told))

    gained = {"server": ServerOption, "profile": ProfileOption, "as_json": JsonOption, "form": FormOption}
    return _signed(run, command, **gained, **({"watch": WatchOption} if watchable else {}))


async def _repeated(
    command: Callable[Concatenate[Session, ...], Coroutine[Any, Any, None]], session: Session, options: dict[str, Any]
) -> None:
    from .watching import watched  # noqa: PLC0415 - see above

    await watched(lambda output: command(replace(session, output=output), **options), session.output)


def when_alone(command: Callable[..., None]) -> Callable[..., None]:
    """Make a remote command what its group does by itself; said before another command, its options hold for that."""

    @wraps(command)
    def run(  # Typer calls this
        context: typer.Context,
        *,
        server: str | None,
        profile: str | None,
        as_json: bool,
        form: Form | None,
        watch: bool = False,
        **options: Any,  # noqa: ANN401
    ) -> None:
        if context.invoked_subcommand is None:
            given = {"server": server, "profile": profile, "as_json": as_json, "form": form, "watch": watch}
            command(context=context, **given, **options)
            return
        said: Invocation = context.obj
        with reported():
            if watch:
                raise InvalidInput.of("watch", f"does not go with {context.invoked_subcommand}")
            chosen = form_of(as_json=as_json, form=form) or said.form
        context.obj = replace(said, place=said.place_of(server, profile), form=chosen)

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
    """Show Typer the options of the command itself, less the session, plus those it gained; groups are taken apart."""
    hints = get_type_hints(command, include_extras=True)
    _, *own = inspect.signature(command).parameters.values()
    parameters = [
        parameter("context", annotation=typer.Context),
        *(part for each in own for part in parts(each, hints[each.name])),
        *(parameter(name, annotation=hint, default=_EMPTY.get(hint)) for name, hint in gained.items()),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


_EMPTY: Final = {JsonOption: False, WatchOption: False}
