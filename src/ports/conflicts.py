"""What to do where a key is taken."""

from __future__ import annotations

from enum import StrEnum


class OnConflict(StrEnum):
    """What to do when another job, or event handler, has the key: refuse, give it the new definition, or leave it."""

    ERROR = "error"
    REPLACE = "replace"
    KEEP = "keep"
