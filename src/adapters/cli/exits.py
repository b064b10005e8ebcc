"""Exit codes that mean something, and what a person reads when a command fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Final, TypeAlias

import typer

from ...domain.errors import (
    Conflict,
    EventHandlerNotFound,
    EventNotFound,
    ExecutionNotFound,
    HandlerNotFound,
    InvalidInput,
    InvalidTransition,
    JobNotFound,
    NotFound,
    ServerUnreachable,
    StoreUnavailable,
    TocsinError,
    Unavailable,
    VersionConflict,
    WorkerNotFound,
)
from .texts import visible


class ExitCode(IntEnum):
    """How a command ended, for the script that called it."""

    OK = 0
    FAILED = 1
    INVALID = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    CONFLICT = 5
    PARTLY = 6
    CHANGES = 7
    INTERRUPTED = 130


MEANINGS: Final = (
    (ExitCode.OK, "done; for health: healthy or degraded"),
    (
        ExitCode.FAILED,
        "the operation, or what was followed, failed; health: unhealthy; ledger verify: findings; doctor: an error",
    ),
    (ExitCode.INVALID, "the command line or an input is not valid; nothing was changed"),
    (ExitCode.UNREACHABLE, "no node answers at the server's address, or its store does not"),
    (ExitCode.NOT_FOUND, "no such job, execution, event, event handler or worker"),
    (ExitCode.CONFLICT, "the key is taken, the version is another, or the state does not allow it"),
    (
        ExitCode.PARTLY,
        (
            "import, events send, apply, jobs bulk: some were refused; each is listed with its reason; "
            "jobs create-many: those listed were created, and no others"
        ),
    ),
    (ExitCode.CHANGES, "apply --dry-run: something would change; 0 if nothing would"),
    (ExitCode.INTERRUPTED, "interrupted by Ctrl-C"),
)

_CODES: Final = (
    (InvalidInput, ExitCode.INVALID),
    (NotFound, ExitCode.NOT_FOUND),
    (Conflict, ExitCode.CONFLICT),
    (VersionConflict, ExitCode.CONFLICT),
    (InvalidTransition, ExitCode.CONFLICT),
    (Unavailable, ExitCode.UNREACHABLE),
)

Advice: TypeAlias = Sequence[tuple[type[TocsinError], str]]
"""What to do next, by the kind of the error; the first that fits holds. That of a conflict names what is there."""

_START: Final = "start a node that has it (`tocsin serve --handlers MODULE`)"

REMOTE_ADVICE: Final[Advice] = (
    (JobNotFound, "`tocsin jobs list` shows what there is"),
    (ExecutionNotFound, "`tocsin executions list` shows what there is"),
    (EventNotFound, "`tocsin events list` shows what there is"),
    (EventHandlerNotFound, "`tocsin events handlers list` shows what there is"),
    (WorkerNotFound, "`tocsin workers` shows what there is"),
    (Conflict, "`tocsin jobs show {existing_id}` shows what is in the way"),
    (VersionConflict, "read it again with `tocsin jobs show`, then repeat with --expected-version"),
    (HandlerNotFound, _START),
    (ServerUnreachable, "start a node with `tocsin serve`, or name another with --server, --profile or TOCSIN_SERVER"),
    (StoreUnavailable, "the node answers, but cannot reach its store or its pipe; `tocsin health` shows more"),
)

UNKNOWN_HANDLER_ADVICE: Final[Advice] = (
    (HandlerNotFound, f"{_START}, or give --allow-unknown-handler"),
    *REMOTE_ADVICE,
)
"""Of commands that have that option."""

EVENT_HANDLER_ADVICE: Final[Advice] = (
    (Conflict, "`tocsin events handlers show {existing_id}` shows what is in the way; see --on-conflict"),
    (VersionConflict, "read it again with `tocsin events handlers show`, then repeat with --expected-version"),
    *REMOTE_ADVICE,
)


def exit_code(error: TocsinError) -> ExitCode:
    """Tell how a command that failed with this error ends."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def explain(error: TocsinError, advice: Advice = ()) -> Iterator[str]:
    """Say in a few lines what is wrong, naming field and bound, and what to do next."""
    if isinstance(error, InvalidInput):
        yield f"Error: the input is not valid ({error.code})"
        yield from (f"  {visible(each.field)}: {visible(each.message)}" for each in error.errors)
    else:
        yield f"Error: {visible(error.message)} ({error.code})"
    words = next((words for kind, words in advice if isinstance(error, kind)), None)
    if words is not None and isinstance(error, Conflict):
        words = None if error.existing_id is None else words.format(existing_id=error.existing_id)
    if words is not None:
        yield f"Next: {words}"


def tell(error: TocsinError, advice: Advice = ()) -> None:
    """Write on stderr what is wrong, as `explain` says it."""
    for line in explain(error, advice):
        typer.echo(line, err=True)


@contextmanager
def reported(advice: Advice = ()) -> Iterator[None]:
    """
    Turn what goes wrong on purpose into lines on stderr and an exit code, never a traceback.

    Raises:
        typer.Exit: with the code that `exit_code` gives.
    """
    try:
        yield
    except TocsinError as error:
        tell(error, advice)
        raise typer.Exit(exit_code(error)) from error
