"""What the code that runs now is about, for each task: its innermost span, and the fields of its lines."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final, Self, TypeVar

from ...domain.trace import TraceContext
from ...ports.telemetry import Attribute, SpanStart, Subject

T = TypeVar("T")

INNERMOST: Final[ContextVar[TraceContext | None]] = ContextVar("tocsin_span", default=None)
"""The innermost span that was begun here; None outside of any."""

SUBJECT: Final[ContextVar[Subject | None]] = ContextVar("tocsin_subject", default=None)
"""What the task is about; None for most."""

UNRECORDED: Final = 0
"""The flags of a trace that begins where nobody records one."""


def innermost() -> TraceContext | None:
    """Tell the innermost span of Tocsin's own: one that was begun here, or else that of the task's subject."""
    if (span := INNERMOST.get()) is not None:
        return span
    subject = SUBJECT.get()
    return None if subject is None else subject.trace


def surroundings() -> Mapping[str, object]:
    """Give the fields that every line carries here."""
    subject = SUBJECT.get()
    return {} if subject is None else subject.fields


class UnrecordedSpan:
    """A span of which only its place is known: what happens under it still belongs to the right trace."""

    __slots__ = ("_token", "context")

    def __init__(self, start: SpanStart, parent: TraceContext | None) -> None:
        self.context = unrecorded(start, parent)
        self._token: Token[TraceContext | None] | None = None

    def __enter__(self) -> Self:
        """Become the innermost span."""
        self._token = INNERMOST.set(self.context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the place back to the span around it."""
        if self._token is not None:
            leave(INNERMOST, self._token)

    def set(self, name: str, value: Attribute) -> None:
        """Do nothing."""

    def fail(self, message: str, *, error_type: str | None = None) -> None:
        """Do nothing."""


def unrecorded(start: SpanStart, parent: TraceContext | None) -> TraceContext:
    """Give a span its place without recording it: in its parent's trace, or else in a trace that nobody records."""
    span_id = start.span_id or secrets.token_hex(8)
    if parent is not None:
        return parent.under(span_id)
    return TraceContext(trace_id=start.trace_id or secrets.token_hex(16), span_id=span_id, flags=UNRECORDED)


def leave(variable: ContextVar[T], token: Token[T]) -> None:
    """Give a variable the value back that it had around the block."""
    # A generator that another task closes than the one that began it ends in that one's context.
    with suppress(ValueError):
        variable.reset(token)
