"""
W3C Trace Context as a value: which trace something belongs to, and under which span.

The form and the rules for what is malformed, of a future version or oversized are those of
https://www.w3.org/TR/trace-context/, sections 3.2 (traceparent) and 3.3 (tracestate).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from uuid import UUID

SAMPLED: Final = 1
TRACESTATE_MEMBERS: Final = 32
TRACESTATE_LENGTH: Final = 512
"""Characters of a tracestate that are handed on; the recommendation has everybody propagate at least these."""

_TRACEPARENT: Final = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_TRACEPARENT_LENGTH: Final = 512
_KEY: Final = r"(?:[a-z][_0-9a-z\-*/]{0,255}|[a-z0-9][_0-9a-z\-*/]{0,240}@[a-z][_0-9a-z\-*/]{0,13})"
_MEMBER: Final = re.compile(rf"({_KEY})=([\x20-\x2b\x2d-\x3c\x3e-\x7e]{{0,255}}[\x21-\x2b\x2d-\x3c\x3e-\x7e])")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """
    One span of one trace: 32 and 16 lower-case hexadecimal digits, flags 0..255, and the vendors' `tracestate`.

    Flag 1 (`SAMPLED`) says that the caller records its trace.
    """

    trace_id: str
    span_id: str
    flags: int = SAMPLED
    tracestate: str | None = None

    @property
    def traceparent(self) -> str:
        """The value of the header `traceparent`, in version 00."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"

    @property
    def is_sampled(self) -> bool:
        """Whether the caller records its trace."""
        return bool(self.flags & SAMPLED)

    def under(self, span_id: str) -> TraceContext:
        """Give another span of the same trace."""
        return TraceContext(trace_id=self.trace_id, span_id=span_id, flags=self.flags, tracestate=self.tracestate)


def read_trace_context(traceparent: str | None, tracestate: str | None = None) -> TraceContext | None:
    """
    Read the two headers; None if `traceparent` is absent or malformed, and then `tracestate` counts for nothing.

    A later version is read as far as version 00 goes. A `tracestate` that is malformed, or has more than
    `TRACESTATE_MEMBERS` members, is dropped; one that is too long loses its longest members first, then its last.
    """
    if traceparent is None or len(traceparent) > _TRACEPARENT_LENGTH:
        return None
    match = _TRACEPARENT.fullmatch(traceparent.strip(" \t"))
    # Version 00 ends after its flags; only later versions may have more.
    if match is None or (match[5] is not None and match[1] == "00"):
        return None
    flags = int(match[4], 16)
    return TraceContext(
        trace_id=match[2],
        span_id=match[3],
        # Of a later version only the flag that version 00 knows can be understood.
        flags=flags if match[1] == "00" else flags & SAMPLED,
        tracestate=read_tracestate(tracestate),
    )


def read_tracestate(tracestate: str | None) -> str | None:
    """Read a `tracestate`, several headers joined by commas; None if there is nothing in it that may be handed on."""
    if tracestate is None:
        return None
    members = [member.strip(" \t") for member in tracestate.split(",")]
    members = [member for member in members if member]
    matches = [_MEMBER.fullmatch(member) for member in members]
    keys = [match[1] for match in matches if match is not None]
    if len(keys) < len(members) or len(set(keys)) < len(keys) or not 0 < len(members) <= TRACESTATE_MEMBERS:
        return None
    return ",".join(_shortened(members)) or None


def _shortened(members: list[str]) -> list[str]:
    """Cut members over 128 characters first, then from the end (section 3.3.1.5, limits)."""
    kept = list(members)
    for member in reversed([member for member in members if len(member) > 128]):  # noqa: PLR2004 - the recommendation's
        if len(",".join(kept)) > TRACESTATE_LENGTH:
            kept.remove(member)
    while len(",".join(kept)) > TRACESTATE_LENGTH:
        kept.pop()
    return kept


def trace_of(subject: UUID) -> TraceContext:
    """
    Give the trace that begins with an execution, a job or an event, under the span that stands for it.

    Both ids are digests of its id, which has 74 random bits, so that any node can tell them without asking.
    """
    trace_id, span_id = trace_ids_of(subject)
    return TraceContext(trace_id=trace_id, span_id=span_id)


def trace_ids_of(subject: UUID) -> tuple[str, str]:
    """Give the ids of the trace and the span of `trace_of`."""
    digest = blake2b(subject.bytes, digest_size=24, person=b"tocsin trace").hexdigest()
    return digest[:32], digest[32:]


def span_of(subject: UUID) -> str:
    """Give the id of the span that stands for an execution or an event, in whatever trace it lies."""
    return trace_of(subject).span_id


def attempt_span_of(execution_id: UUID, attempt: int) -> str:
    """Give the id of the span of one attempt, so that a retry on another node can link to the first."""
    data = execution_id.bytes + attempt.to_bytes(8, "big")
    return blake2b(data, digest_size=8, person=b"tocsin attempt").hexdigest()
