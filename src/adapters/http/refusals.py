"""Errors that only HTTP knows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ...domain.errors import NotFound, TocsinError


class Malformed(TocsinError):
    """The request cannot be read at all."""

    code: ClassVar[str] = "MALFORMED"


class Forbidden(TocsinError):
    """The request comes by a way that this node does not serve."""

    code: ClassVar[str] = "FORBIDDEN"


class NoSuchRoute(NotFound):
    """Nothing is served under this path."""

    code: ClassVar[str] = "NOT_FOUND"


class MethodNotAllowed(TocsinError):
    """The path exists, but not for this method; `allowed` lists those that do."""

    code: ClassVar[str] = "METHOD_NOT_ALLOWED"

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        """Keep the methods, sorted."""
        self.allowed = tuple(sorted(allowed))
        super().__init__(f"{method} is not served here; allowed: {', '.join(self.allowed)}")


class NoVersionMatches(TocsinError):
    """The entity tag in If-Match can be no version of anything."""

    code: ClassVar[str] = "VERSION_CONFLICT"


class TooLarge(TocsinError):
    """The body is larger than this node reads."""

    code: ClassVar[str] = "TOO_LARGE"


class PositionGone(TocsinError):
    """What stood at a position of a stream is not kept any more, or nothing ever did; begin without one."""

    code: ClassVar[str] = "POSITION_GONE"


class UnsupportedMediaType(TocsinError):
    """The body is not of a type that this endpoint reads, or not in UTF-8."""

    code: ClassVar[str] = "UNSUPPORTED_MEDIA_TYPE"


class Internal(TocsinError):
    """Something went wrong that nobody foresaw; the log has the details."""

    code: ClassVar[str] = "INTERNAL"
