"""Events in lines of JSON, each plain or a CloudEvent, read one by one however long the file is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from datetime import datetime
from io import BufferedReader
from pathlib import Path
from select import select
from typing import Any, BinaryIO, Final, cast

from ...domain.cloudevents import event_of_document
from ...domain.errors import FieldError, InvalidEvent, InvalidInput
from ...domain.event import EventOrigin, NewEvent
from ...domain.event_definition import validate_event
from ...domain.json import EVENT_LIMIT, Json
from ...domain.strict_json import read_json
from ...domain.trace import read_trace_context

LONGEST: Final = 8 * EVENT_LIMIT
"""Bytes of a line: data of the largest size takes several times as many if all of it is escaped."""

PATIENCE_SECONDS: Final = 0.25

_CHUNK: Final = 65_536
_TOO_LONG: Final = b"\n"
"""Stands for a line that was; no line has this in it."""

_TRACED: Final = frozenset({"traceparent", "tracestate"})
_FIELDS: Final = frozenset(field.name for field in fields(NewEvent)) - {"trace", "origin"} | _TRACED


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """One line of a file, counted from 1 and of `size` bytes: its event, or what is wrong with it."""

    line: int
    size: int = field(default=0, compare=False)
    event: NewEvent | None = None
    errors: Sequence[FieldError] = ()


def open_lines(file: str) -> AbstractContextManager[BinaryIO]:
    """
    Open a file for reading, or stdin if it is called `-`.

    Raises:
        InvalidInput: it cannot be opened.
    """
    try:
        return nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")
    except OSError as error:
        raise InvalidInput.of("file", f"cannot read {file}: {error.strerror}") from error


def read_events(file: BinaryIO, *, after: int = 0) -> Iterator[EventLine | None]:
    """Read the lines past the first `after`, empty ones passed over; None is said while no more come for now."""
    number = 0
    for raw in _lines(file):
        if raw is None:
            yield None
            continue
        number += 1
        if number <= after:
            continue
        if len(raw) > LONGEST or raw == _TOO_LONG:
            yield EventLine(line=number, errors=(FieldError("event", f"must have at most {LONGEST} bytes"),))
        elif raw.strip():
            yield _read(number, raw)


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Split a file into lines; of one that is too long nothing is kept."""
    rest, is_dropped = b"", False
    while True:
        if not _is_ready(file):
            yield None
            continue
        part = cast("BufferedReader", file).read1(_CHUNK)
        *lines, rest = (rest + part).split(b"\n")
        if is_dropped and lines:
            lines[0], is_dropped = _TOO_LONG, False
        if is_dropped or len(rest) > LONGEST:
            rest, is_dropped = b"", True
        yield from lines
        if not part:
            break
    if rest or is_dropped:
        yield _TOO_LONG if is_dropped else rest


def _is_ready(file: BinaryIO) -> bool:
    """Wait a moment for a pipe or a terminal, so that neither what came before nor Ctrl-C waits for what comes next."""
    try:
        return bool(select([file], [], [], PATIENCE_SECONDS)[0])
    except OSError:
        # Nothing that the system can wait for.
        return True


def _read(number: int, raw: bytes) -> EventLine:
    try:
        return EventLine(line=number, size=len(raw), event=read_event(_document(raw)))
    except InvalidInput as error:
        return EventLine(line=number, errors=error.errors)


def _document(raw: bytes) -> Json:
    try:
        return read_json(raw)
    except ValueError as error:
        raise InvalidEvent.of("event", str(error)) from None


def read_event(document: Json) -> NewEvent:
    """
    Read an event as the HTTP API takes it: a CloudEvent if it has a `specversion`, else a plain one.

    Raises:
        InvalidEvent: names each field that is missing, unknown or breaks a bound.
    """
    if not isinstance(document, Mapping):
        raise InvalidEvent.of("event", "must be a JSON object")
    if "specversion" in document:
        return validate_event(event_of_document(document, origin=EventOrigin.CLOUDEVENTS))
    errors = [FieldError(name, "is not a known field") for name in document if name not in _FIELDS]
    if document.get("name") is None:
        errors.append(FieldError("name", "is required"))
    if errors:
        raise InvalidEvent(errors)
    return validate_event(_plain(document))


def _plain(document: Mapping[str, Any]) -> NewEvent:
    given = {name: value for name, value in document.items() if name not in _TRACED and value is not None}
    if "time" in given:
        given["time"] = _instant(given["time"])
    traced = [each if isinstance(each := document.get(name), str) else None for name in ("traceparent", "tracestate")]
    return NewEvent(**given, trace=read_trace_context(*traced))


def _instant(written: object) -> datetime:
    try:
        if isinstance(written, str):
            return datetime.fromisoformat(written)
    except ValueError:
        pass
    raise InvalidEvent.of("time", "must be an instant with its UTC offset, such as 2026-01-31T08:00:00Z")
