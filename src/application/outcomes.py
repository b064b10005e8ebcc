"""How what a handler did becomes an outcome that any store can keep."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Final

from ..domain.attempt import Outcome
from ..domain.errors import ExecutionTimeout, HandlerFailed, TocsinError
from ..domain.execution import ExecutionStatus
from ..domain.json import ERROR_LIMIT, RESULT_LIMIT, Json, NotStorable, clean_text, storable
from ..ports.handlers import Handler, HandlerContext

STACK_FRAMES: Final = 50

_PACKAGE: Final = __name__.partition(".")[0]


async def call(handler: Handler, context: HandlerContext) -> object:
    """Call a handler so that one that asks to end the process, which asyncio would do, fails like any other."""
    try:
        return await handler(context)
    except SystemExit as error:
        raise HandlerFailed(f"the handler asked the process to exit with {readable(error.code, repr)}") from error
    except KeyboardInterrupt as error:
        raise HandlerFailed("the handler raised KeyboardInterrupt") from error


def outcome_of(task: asyncio.Task[object], duration_ms: int) -> Outcome:
    """Read a handler's finished task: its result, or what it raised."""
    if task.cancelled():
        return _failure("the handler cancelled itself", "CancelledError", duration_ms)
    error = task.exception()
    if error is not None:
        return failure(error, duration_ms)
    try:
        result = kept(task.result(), limit=RESULT_LIMIT)
    except NotStorable as refusal:
        message = clean_text(f"the result cannot be kept: {refusal}")
        return _failure(message, "RESULT_NOT_STORABLE", duration_ms)
    return Outcome(status=ExecutionStatus.SUCCESS, duration_ms=duration_ms, result=result)


def kept(value: object, *, limit: int) -> Json:
    """
    Make what a handler gave storable, whatever its own code does while it is read.

    Raises:
        NotStorable: it has no JSON form, is larger than `limit` bytes, or cannot be read.
    """
    try:
        return storable(value, limit=limit)
    except NotStorable:
        raise
    except BaseException as broken:
        # Reading a value runs the handler's code, which may even ask to exit, and its threads may change it meanwhile.
        raise NotStorable(f"a {type(value).__name__} cannot be read: {type(broken).__name__}") from broken


def readable(value: object, read: Callable[[object], str] = str) -> str:
    """Word a handler's value, or say that it cannot be: `read` runs the handler's code, which may do anything."""
    try:
        # A subclass of str would bring its code along.
        return "".join(read(value))
    except BaseException as broken:  # noqa: BLE001 - code of a handler that asks to exit must not be heard here
        return f"a {type(value).__name__} that cannot be written: {type(broken).__name__}"


def failure(error: BaseException, duration_ms: int) -> Outcome:
    """Describe an exception within the bounds of the ledger, whatever its own code does while it is read."""
    try:
        return _described(error, duration_ms)
    except BaseException as broken:  # noqa: BLE001 - as `readable`
        message = f"{type(error).__name__}, which cannot be read: {type(broken).__name__}"
        return _failure(clean_text(message), "ERROR_NOT_READABLE", duration_ms)


def timeout(timeout_ms: int, duration_ms: int) -> Outcome:
    """Describe an attempt that ran out of time."""
    return Outcome(
        status=ExecutionStatus.TIMEOUT,
        duration_ms=duration_ms,
        error=f"the attempt ran longer than {timeout_ms} ms",
        error_type=ExecutionTimeout.code,
    )


def _described(error: BaseException, duration_ms: int) -> Outcome:
    kind = error.code if isinstance(error, TocsinError) else type(error).__name__
    return Outcome(
        status=ExecutionStatus.FAILED,
        duration_ms=duration_ms,
        result=_kept_result(error),
        error=clean_text(_message(error)),
        error_type=clean_text(readable(kind), limit=255),
        error_stack=clean_text(_stack(error)),
    )


def _failure(error: str, error_type: str, duration_ms: int) -> Outcome:
    return Outcome(status=ExecutionStatus.FAILED, duration_ms=duration_ms, error=error, error_type=error_type)


def _message(error: BaseException) -> str:
    try:
        return "".join(str(error)) or type(error).__name__
    except BaseException as broken:  # noqa: BLE001 - an exception's own __str__ is the handler's code too
        return f"{type(error).__name__}, whose message cannot be read: {type(broken).__name__}"


def _stack(error: BaseException) -> str:
    """Write the newest frames, and where they came from; the message stands apart, because it may be huge."""
    frames = traceback.format_tb(_from_handler_on(error.__traceback__), limit=-STACK_FRAMES)
    causes = [f"caused by {type(cause).__name__}: {_message(cause)[:500]}\n" for cause in _causes(error)]
    return ("".join(frames) + "".join(causes))[-ERROR_LIMIT:]


def _from_handler_on(stack: TracebackType | None) -> TracebackType | None:
    """Leave out the frames by which a handler is called, unless it is one of Tocsin's own."""
    frame = stack
    while frame is not None and str(frame.tb_frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame = frame.tb_next
    return frame or stack


def _causes(error: BaseException) -> list[BaseException]:
    found: dict[int, BaseException] = {}
    cause = _cause(error)
    while cause is not None and id(cause) not in found and len(found) < STACK_FRAMES:
        found[id(cause)] = cause
        cause = _cause(cause)
    return list(found.values())


def _cause(error: BaseException) -> BaseException | None:
    """Follow the chain as a traceback does: `raise … from None` hides what may hold a secret."""
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__


def _kept_result(error: BaseException) -> Json:
    if not isinstance(error, HandlerFailed):
        return None
    try:
        return kept(error.result, limit=RESULT_LIMIT)
    except NotStorable:
        return None
