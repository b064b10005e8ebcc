"""Positions in the outbox: the transaction that wrote a row, and its number; as text `TRANSACTION.NUMBER`."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from ...domain.errors import InvalidEvent
from .filters import LARGEST
from .transaction import Row

Position: TypeAlias = tuple[int, int]
"""A transaction and a number."""

START: Final[Position] = (0, 0)

_TEXT: Final = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})")


def position_text(position: Position) -> str:
    """Word a position."""
    return f"{position[0]}.{position[1]}"


def read_position(text: str) -> Position:
    """
    Read a position.

    Raises:
        InvalidEvent: nobody wrote it here.
    """
    match = _TEXT.fullmatch(text)
    position = (int(match[1]), int(match[2])) if match is not None else (LARGEST + 1, 0)
    if max(position) > LARGEST:
        raise InvalidEvent.of("position", "is not a position of the outbox")
    return position


def position_of(row: Row) -> Position:
    """Tell where a row stands."""
    return row["transaction_id"], row["sequence"]


def checked(position: Position, horizon: Row) -> Position:
    """
    Hold a position against where the outbox begins and ends.

    Raises:
        InvalidEvent: nobody wrote it here, or what stood there is gone already.
    """
    if position[0] > horizon["following"]:
        raise InvalidEvent.of("position", "is not a position of the outbox")
    if horizon["end_id"] is not None and position < (horizon["end_id"], horizon["end_sequence"]):
        raise InvalidEvent.of("position", "lies before the oldest event that is kept")
    return position
