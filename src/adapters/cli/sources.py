"""Files that commands read whole, if they are not too large; `-` is stdin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from ...domain.errors import InvalidInput

STDIN: Final = "-"


def shown_name(name: str) -> str:
    """Say which file is meant."""
    return "stdin" if name == STDIN else name


def read_bytes(name: str, *, largest: int) -> bytes:
    """
    Read a file of up to `largest` bytes.

    Raises:
        InvalidInput: on field `file`, if it cannot be read or is larger.
    """
    try:
        if name == STDIN:
            raw = sys.stdin.buffer.read(largest + 1)
        else:
            with Path(name).open("rb") as opened:
                raw = opened.read(largest + 1)
    except OSError as error:
        raise InvalidInput.of("file", f"cannot read {shown_name(name)}: {error.strerror}") from error
    if len(raw) > largest:
        raise InvalidInput.of("file", f"{shown_name(name)} is larger than {largest} bytes")
    return raw
