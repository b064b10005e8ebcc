"""The Telemetry port over structlog: one line per fact, for people or for machines."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, TextIO
from uuid import UUID

import structlog
from structlog.typing import Processor

from ...domain.secrecy import MASK, names_secret
from ...domain.trace import TraceContext
from ...ports.telemetry import Attribute, Metric, Span, SpanStart, Subject
from .scope import INNERMOST, SUBJECT, UnrecordedSpan, innermost, surroundings

_DEPTH: Final = 8
_URL_PASSWORD: Final = re.compile(r"(://[^/@\s:?#]*:)[^/@\s]+@")


def _for_machines(_: TextIO) -> Sequence[Processor]:
    return structlog.processors.format_exc_info, structlog.processors.JSONRenderer()


def _for_people(output: TextIO) -> Sequence[Processor]:
    plain = structlog.dev.plain_traceback
    return (structlog.dev.ConsoleRenderer(colors=output.isatty(), exception_formatter=plain),)


_ENDINGS: Final = MappingProxyType({"json": _for_machines, "console": _for_people})


class StructuredLog:
    """
    Writes to one stream, standard error unless told otherwise; `form` is `console` or `json`.

    Of spans it keeps only their places, for the lines and for what is called within them; figures it does not keep.
    """

    def __init__(self, *, form: str = "console", level: str = "info", stream: TextIO | None = None) -> None:
        output = stream or sys.stderr
        ending = _ENDINGS[form](output)
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(output),
            processors=[
                structlog.contextvars.merge_contextvars,
                add_surroundings,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                mask_secrets,
                *ending,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        )

    def debug(self, event: str, **fields: object) -> None:
        """Write a line of level debug."""
        self._log.debug(event, **fields)

    def info(self, event: str, **fields: object) -> None:
        """Write a line of level info."""
        self._log.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        """Write a line of level warning."""
        self._log.warning(event, **fields)

    def error(self, event: str, **fields: object) -> None:
        """Write a line of level error; `exc_info` adds a stack."""
        self._log.error(event, **fields)

    @property
    def traces(self) -> bool:
        """False: its spans go nowhere."""
        return False

    def current(self) -> TraceContext | None:
        """Tell the innermost span of Tocsin's own."""
        return innermost()

    def span(self, start: SpanStart) -> AbstractContextManager[Span]:
        """Give a span its place."""
        return UnrecordedSpan(start, start.parent)

    def record(self, start: SpanStart, *, ended_at: datetime) -> None:
        """Do nothing."""

    def dedicate(self, subject: Subject) -> None:
        """Have this task be about a subject."""
        SUBJECT.set(subject)
        if INNERMOST.get() is not None:
            # Of whoever began this task.
            INNERMOST.set(None)

    def add(self, metric: Metric, amount: int = 1, **labels: Attribute) -> None:
        """Do nothing."""

    def observe(self, metric: Metric, *values: float, **labels: Attribute) -> None:
        """Do nothing."""

    def gauge(self, metric: Metric, value: float, **labels: Attribute) -> None:
        """Do nothing."""


def add_surroundings(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ANN401 - structlog's signature
    """Add what the code that writes the line is about, and the span that it runs under, unless the line says so."""
    for name, value in surroundings().items():
        event.setdefault(name, str(value) if isinstance(value, UUID) else value)
    if (span := innermost()) is not None:
        event.setdefault("trace_id", span.trace_id)
        event.setdefault("span_id", span.span_id)
    return event


def mask_secrets(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ANN401 - structlog's signature
    """Replace the values of fields whose names speak of secrets, however deep, and the passwords of URLs."""
    for name, value in event.items():
        event[name] = _masked(name, value)
    return event


def _masked(name: object, value: object, depth: int = 0) -> object:
    if isinstance(name, str) and names_secret(name):
        return MASK
    match value:
        case str() if "://" in value:
            return _URL_PASSWORD.sub(rf"\1{MASK}@", value)
        case Mapping() if depth < _DEPTH:
            return {key: _masked(key, each, depth + 1) for key, each in value.items()}
        case list() | tuple() if depth < _DEPTH:
            return [_masked(None, each, depth + 1) for each in value]
        case _:
            return value
