"""How much work data can make for an expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...domain.json import NESTING_LIMIT

NODES_LIMIT = 2000
"""Values, after which counting ends: nothing is evaluated in place over so many."""

_DEPTH_LIMIT = NESTING_LIMIT + 4


class TooDeep(Exception):
    """The data nests deeper than any that is stored; an evaluator's stack would not hold it."""


@dataclass(slots=True)
class Weight:
    """Values in the data, and characters in its texts; what was counted until there were too many."""

    nodes: int = 0
    characters: int = 0

    @classmethod
    def of(cls, value: object) -> Weight:
        """
        Weigh a value.

        Raises:
            TooDeep: it nests deeper than data may; deep data behind too many values goes unnoticed.
        """
        weight = cls()
        weight._add(value, _DEPTH_LIMIT)
        return weight

    def _add(self, value: object, levels: int) -> None:
        if levels == 0:
            raise TooDeep
        self.nodes += 1
        if isinstance(value, str):
            self.characters += len(value)
        elif isinstance(value, Mapping):
            self._add_all(value, levels - 1)
            self._add_all(value.values(), levels - 1)
        elif isinstance(value, list | tuple):
            self._add_all(value, levels - 1)

    def _add_all(self, values: Iterable[object], levels: int) -> None:
        for value in values:
            if self.nodes > NODES_LIMIT:
                return
            self._add(value, levels)
