"""W3C Trace Context: a request's trace goes on in its answer, under a span of its own."""

from __future__ import annotations

import re
from secrets import token_hex
from typing import Final

from aiohttp import web

_VALID: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?")


def continued(header: str | None) -> str:
    """Give a `traceparent` with a new span in the caller's trace, or in a new one if there is no valid header."""
    match = _VALID.fullmatch(header or "")
    # Version 00 ends after its flags; only later versions may have more (W3C Trace Context, 4.3).
    if match is None or (match[3] and match[0].startswith("00")):
        return f"00-{token_hex(16)}-{token_hex(8)}-00"
    return f"00-{match[1]}-{token_hex(8)}-{match[2]}"


async def add_traceparent(request: web.Request, response: web.StreamResponse) -> None:
    """Tell the caller under which trace and span its request was served."""
    response.headers["traceparent"] = continued(request.headers.get("traceparent"))
