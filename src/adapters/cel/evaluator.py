"""
What evaluates an expression and words its failure; as a program, the process in which slow ones are evaluated.

As a program it stands alone, outside of Tocsin's package: it needs nothing but the standard library and CEL.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from types import ModuleType
from typing import Any, BinaryIO, Final

# The library imports its command line, which takes longer than all the rest of it, and which nobody here wants.
_CLI: Final = "cel.cli"
_WITHOUT_CLI: Final = _CLI not in sys.modules
if _WITHOUT_CLI:
    sys.modules[_CLI] = ModuleType(_CLI)
import cel  # noqa: E402  # After the line above.
from cel.stdlib import EXTENSIONS  # noqa: E402  # As above.

if _WITHOUT_CLI:
    del sys.modules[_CLI]

Program = cel.Program

LENGTH: Final = struct.Struct(">I")
"""What precedes each message on a pipe: its bytes."""

EXTRAS: Final = {
    name: function
    for functions in EXTENSIONS.values()
    for name, function in functions.items()
    if name != "contains"  # CEL's own, of strings alone, means the same wherever an expression is evaluated.
}
"""Functions that the library adds in Python: known only where evaluation may take long."""


class EvaluationFailed(Exception):
    """An expression came to nothing; the message holds no data."""


def program_of(source: str) -> cel.Program:
    """
    Parse an expression, in at most about 10 ms.

    Raises:
        EvaluationFailed: it is no CEL; the message says where, in the author's own words at most.
    """
    try:
        return cel.compile(source)
    except BaseException as error:
        _pass_on(error)
        raise EvaluationFailed(_point(str(error))) from error


def context_of(variables: Mapping[str, Any]) -> cel.Context:
    """
    Read variables once, for many expressions.

    Raises:
        EvaluationFailed: a value has no form in CEL.
    """
    context = cel.Context()
    try:
        for name, value in variables.items():
            context.add_variable(name, value)
    except BaseException as error:
        _pass_on(error)
        raise EvaluationFailed(_UNREADABLE) from error
    return context


def value_of(program: cel.Program, context: cel.Context) -> Any:  # noqa: ANN401  # The library's own word for it.
    """
    Evaluate an expression.

    Raises:
        EvaluationFailed: it came to nothing.
    """
    try:
        return program.execute(context)
    except BaseException as error:
        _pass_on(error)
        raise EvaluationFailed(_reason(error, program.source)) from error


def _pass_on(error: BaseException) -> None:
    # A panic of the library is no Exception.
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error


def _reason(error: BaseException, source: str) -> str:
    message = str(error)
    if isinstance(error, KeyError):
        return _missing(str(error.args[0]) if error.args else "", source)
    for shape, wording in _SHAPES:
        if (found := shape.match(message)) and all(_is_named(part, source) for part in found.groups()):
            return wording.format(*found.groups())
    return next((wording for kind, wording in _KINDS if isinstance(error, kind)), "the evaluation broke off")


def _point(message: str) -> str:
    found = _ERROR.search(message)
    if found is None:
        return "this is no text that can be read"
    line, column, said = found.groups()
    if "Recursion limit" in said:
        return "it nests too deep"
    for pattern, wording in _PARSER_WORDS:
        said = pattern.sub(wording, said)
    return f"line {line}, column {column}: {said[:200]}"


def _missing(name: str, source: str) -> str:
    # A key that was computed is data.
    name = name.strip("'")
    return f"there is no field {name}" if name and _is_named(name, source) else "a field is missing"


def _is_named(name: str, source: str) -> bool:
    return name in _TYPES or name in _OPERATORS or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source) is not None


_TYPES: Final = {
    "bool", "bytes", "double", "duration", "float", "function", "int", "list", "map", "null", "opaque", "string",
    "timestamp", "uint",
}  # fmt: skip
_OPERATORS: Final = frozenset(["+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!="])

_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)")
_PARSER_WORDS: Final = (
    (re.compile(r"^Syntax error: "), ""),
    (re.compile(r" expecting \{.{40,}$"), ""),
    (re.compile(r"^mismatched input '<EOF>'"), "the expression ends too early"),
    (re.compile(r"'<EOF>'"), "the end"),
    (re.compile(r"^token recognition error at: "), "there is no such symbol: "),
)

_UNREADABLE: Final = "the data cannot be read by an expression"
_FRAME: Final = '{"value":}'

_SHAPES: Final = (
    (re.compile(r"Unsupported operation: (\w+) (\S+) (\w+)\."), "{0} {1} {2} is not defined, and nothing is converted"),
    (re.compile(r"Undefined variable or function: '([^']*)'"), "{0} is unknown, or does not take such values"),
    (re.compile(r"Function '([^']*)' error"), "{0}() cannot work with the value that it is given"),
)
_KINDS: Final = (
    (ZeroDivisionError, "division by zero"),
    (IndexError, "a list has no such position"),
    (OverflowError, "a number is out of range"),
    (TypeError, "an operator or a function is given values of a type that it does not take"),
    (MemoryError, "the evaluation needs too much memory"),
)


def _main(seconds: float, turn_seconds: float, memory: int, result_limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    while (variables := _read(sys.stdin.buffer)) is not None:
        expressions = json.loads(_read(sys.stdin.buffer) or "[]")
        for answer in _turn(variables, expressions, seconds=seconds, turn_seconds=turn_seconds, limit=result_limit):
            sys.stdout.buffer.write(LENGTH.pack(len(answer)) + answer)
            sys.stdout.buffer.flush()


def _turn(
    variables: bytes, expressions: list[str], *, seconds: float, turn_seconds: float, limit: int
) -> Iterator[bytes]:
    """Answer expressions in their order; `null` says that the time of the turn is over, and the rest is not begun."""
    started = time.process_time()
    reading = _limited(lambda: _context(variables), seconds)
    for expression in expressions:
        yield _limited(lambda expression=expression: _answer(expression, reading, limit), seconds)
        if time.process_time() - started > turn_seconds and expression is not expressions[-1]:
            yield b"null"
            return


def _limited(work: Any, seconds: float) -> Any:  # noqa: ANN401  # Answers what the work answers.
    # Nothing in this process could interrupt an evaluation: at its time-out, the system ends the process.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _context(variables: bytes) -> cel.Context | EvaluationFailed:
    try:
        context = context_of(json.loads(variables))
    except (EvaluationFailed, RecursionError, MemoryError):
        return EvaluationFailed(_UNREADABLE)
    for name, function in EXTRAS.items():
        context.add_function(name, function)
    return context


def _answer(expression: str, context: cel.Context | EvaluationFailed, limit: int) -> bytes:
    started = time.process_time()
    try:
        answer = _result(expression, context, limit)
    except EvaluationFailed as failure:
        answer = json.dumps({"failed": str(failure)}).encode()
    except Exception:  # noqa: BLE001  # Whatever it is, it is this expression's.
        answer = json.dumps({"failed": "the result has no JSON form"}).encode()
    seconds = time.process_time() - started
    return answer[:-1] + f', "seconds": {seconds}}}'.encode()


def _result(expression: str, context: cel.Context | EvaluationFailed, limit: int) -> bytes:
    if isinstance(context, EvaluationFailed):
        raise context
    answer = json.dumps(
        {"value": value_of(_program(expression), context)}, default=_plain, ensure_ascii=False, separators=(",", ":")
    ).encode()
    if len(answer) > limit + len(_FRAME):
        raise EvaluationFailed(f"the value takes more than {limit} bytes as JSON")
    return answer


_program: Final = lru_cache(maxsize=1024)(program_of)


def _plain(value: object) -> str | float:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise EvaluationFailed(f"a {type(value).__name__} has no JSON form")


def _read(pipe: BinaryIO) -> bytes | None:
    head = pipe.read(LENGTH.size)
    return pipe.read(*LENGTH.unpack(head)) if len(head) == LENGTH.size else None


if __name__ == "__main__":
    _main(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
