"""Expressions over an event: filters, keys and the placeholders of templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ..domain.json import Json

Variables: TypeAlias = Mapping[str, Json]
"""What an expression may name: `event`, and `events`, all those that were gathered for a handler, oldest first."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An expression that came to nothing: `reason` is safe to show whoever wrote it, and holds no data."""

    reason: str


class Expressions(Protocol):
    """
    Evaluates CEL, the Common Expression Language, within bounds of size and time.

    One expression's failure, slowness or crash never touches another, nor the node.
    """

    def check(self, field: str, expression: str) -> None:
        """
        Refuse an expression that can never be evaluated.

        Raises:
            InvalidEventHandler: it is empty, longer than `EXPRESSION_LIMIT`, or no CEL; `field` names it.
        """

    async def evaluate(self, expressions: Sequence[str], variables: Variables) -> Sequence[Json | Failed]:
        """
        Evaluate each expression over the same variables, and answer in their order; never raises.

        A result is made storable; one that has no JSON form, or outgrows a payload, is a failure like a missing
        field, a wrong type, or a time-out of `EVALUATION_SECONDS`.
        """


EXPRESSION_LIMIT = 1024
"""Characters of one expression."""

EVALUATION_SECONDS = 0.25
"""How long one expression may take."""
