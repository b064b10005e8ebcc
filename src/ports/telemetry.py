"""What a node says about itself to the people who run it."""

from __future__ import annotations

from typing import Protocol


class Telemetry(Protocol):
    """
    Takes one line per noteworthy fact: a dotted lower-case event name and fields.

    Never raises, never blocks on a network, and masks fields that are secrets by their name.
    """

    def debug(self, event: str, **fields: object) -> None:
        """Say what helps only whoever looks for a fault."""

    def info(self, event: str, **fields: object) -> None:
        """Say what an operator may want to read."""

    def warning(self, event: str, **fields: object) -> None:
        """Say what an operator should look at, though the node copes."""

    def error(self, event: str, **fields: object) -> None:
        """Say what went wrong and needs a person."""
