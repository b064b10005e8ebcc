"""An expression as it was parsed: what it may cost, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .evaluator import EXTRAS, Program, program_of
from .weight import NODES_LIMIT, Weight

VARIABLES: Final = frozenset({"event", "events"})

_PLAIN_FUNCTIONS: Final = frozenset(
    """
    _+_ _-_ _*_ _/_ _%_ _==_ _!=_ _<_ _<=_ _>_ _>=_ _&&_ _||_ !_ -_ _?_:_ _[_] @in
    size contains startsWith endsWith string bytes int uint double timestamp duration type dyn
    getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear
    getHours getMinutes getSeconds getMilliseconds
    of none ofNonZeroValue hasValue value orValue or
    """.split()  # noqa: SIM905  # A list of words reads best as one.
)
_EXTRA_FUNCTIONS: Final = frozenset(name.rpartition(".")[2] for name in EXTRAS)
_KNOWN_FUNCTIONS: Final = _PLAIN_FUNCTIONS | _EXTRA_FUNCTIONS | {"matches", "@not_strictly_false"}
_NAMESPACES: Final = frozenset(name.partition(".")[0] for name in EXTRAS if "." in name) | {"optional"}
_TYPES: Final = frozenset(
    {"bool", "bytes", "double", "google", "int", "list", "map", "null_type", "string", "type", "uint"}
)

_MACRO: Final = re.compile(r"\b(?:all|exists|exists_one|existsOne|map|filter)\b")
_BOUND: Final = re.compile(rf"{_MACRO.pattern}\s*\(\s*(\w+)\s*,")
_LITERAL: Final = re.compile(r"""'[^'\n]*'|"[^"\n]*\"""")
_UNSURE: Final = re.compile(r"""\\|//|'''|\"{3}""")
_VARIABLE: Final = re.compile(r"\b(?:event|handler)\b")

_NODE_SECONDS: Final = 2e-6
_CHARACTER_SECONDS: Final = 5e-9
_IN_PLACE_SECONDS: Final = 0.004


@dataclass(frozen=True, slots=True)
class Parsed:
    """
    A parsed expression.

    `is_plain` is one in which nothing loops. `factor` bounds how often a plain one may go through the data.
    """

    program: Program
    is_plain: bool
    factor: int

    def is_quick(self, weight: Weight) -> bool:
        """Tell whether it surely takes no more than a few milliseconds over data of a weight."""
        if not self.is_plain or weight.nodes > NODES_LIMIT:
            return False
        nodes = weight.nodes + len(self.program.source) // 4
        size = nodes * _NODE_SECONDS + weight.characters * _CHARACTER_SECONDS
        return self.factor * size <= _IN_PLACE_SECONDS

    def unknown_names(self) -> Iterator[str]:
        """Name what the expression refers to and nobody could give it."""
        bound = set(_BOUND.findall(self.program.source))
        for name in self.program.variables():
            if name not in VARIABLES | _NAMESPACES | _TYPES | bound:
                yield name
        for name in self.program.functions():
            if name not in _KNOWN_FUNCTIONS:
                yield f"{name}()"


def parsed(source: str) -> Parsed:
    """
    Parse an expression and look at what may cost time in it.

    Raises:
        EvaluationFailed: it is no CEL; the message says where.
    """
    program = program_of(source)
    return Parsed(
        program=program,
        is_plain=_PLAIN_FUNCTIONS.issuperset(program.functions()) and not _MACRO.search(_without_literals(source)),
        factor=_factor(source),
    )


def _without_literals(source: str) -> str:
    # Only where it is plain what a literal is: a macro that is overlooked would hold up the whole node.
    return source if _UNSURE.search(source) else _LITERAL.sub("''", source)


def _factor(source: str) -> int:
    # A sum of lists or texts copies its left side each time, and what is nested at every level.
    parts = 1 + len(_VARIABLE.findall(source)) + source.count("[") + source.count("{")
    return parts * parts if "+" in source else parts
