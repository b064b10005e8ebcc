"""What a system under test is: how its programs run, what each test sets it to, and how to see that it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ..engines import Engine
from .environments import Environment
from .evidence import Evidence


class Test(StrEnum):
    """What is measured, by the letter that asks for it."""

    DRAIN = "A"
    INSERT = "B"
    BURST = "C"
    ONE_SHOT = "D"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """
    A system in one test.

    `settings` go to its program, and `told` says them to people. More jobs than `at_most` are not given to it:
    a drain or an insertion, whose rates compare, gets fewer; a burst is left out. `helpers` are further parts of the
    program that have to run beside the worker, and `insertions` those that the program has for inserting.
    """

    told: str
    settings: Mapping[str, object] = field(default_factory=dict)
    at_most: int | None = None
    helpers: Sequence[str] = ()
    insertions: Sequence[str] = ("insert_bulk", "insert_each")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """
    One system on one engine; `program` is a module of `programs`.

    `submits_itself` says that the worker of the one-shot test is also who submits them, and `counts` that one process
    runs all handlers, which so can tell when the last one ran.
    """

    name: str
    program: str
    environment: Environment
    engine: Engine
    evidence: Evidence
    setups: Mapping[Test, Setup]
    submits_itself: bool = False
    counts: bool = True

    @property
    def slug(self) -> str:
        """The name by which it is asked for."""
        return self.name.lower().replace(" + ", "-").replace(" ", "-")

    @property
    def is_ours(self) -> bool:
        """True if it is Tocsin."""
        return self.program == "tocsin"
