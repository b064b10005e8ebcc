"""The port of expressions, over CEL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache

from ...domain.errors import InvalidEventHandler
from ...domain.json import PAYLOAD_LIMIT, Json, NotStorable, encoded, storable
from ...ports.expressions import EXPRESSION_LIMIT, Expressions, Failed, Variables
from .evaluator import EvaluationFailed, context_of, value_of
from .grammar import Parsed, parsed
from .lane import Lane
from .process import Answer
from .weight import TooDeep, Weight

REASON_LIMIT = 300
"""Characters of the reason of a failure."""

_KEPT = 2048
_BREATH_SECONDS = 0.01
_SLOW_SECONDS = 0.02


@asynccontextmanager
async def open_cel() -> AsyncIterator[CelExpressions]:
    """Evaluate expressions until the block ends; processes are started when they are first needed."""
    expressions = CelExpressions()
    try:
        yield expressions
    finally:
        await expressions.close()


class CelExpressions(Expressions):
    """
    Evaluates in place what is surely quick, and all else in two processes.

    The second process is for expressions that were slow before: so they wait for one another, and nobody for them.
    """

    def __init__(self) -> None:
        self._parsed = lru_cache(maxsize=_KEPT)(parsed)
        self._quick, self._slow = Lane(), Lane()
        self._slow_ones: dict[str, None] = {}

    def check(self, field: str, expression: str) -> None:
        """Parse the expression, and look at the names in it."""
        if not expression.strip():
            raise InvalidEventHandler.of(field, "must not be empty")
        if len(expression) > EXPRESSION_LIMIT:
            raise InvalidEventHandler.of(field, f"must be at most {EXPRESSION_LIMIT} characters")
        try:
            unknown = next(self._parsed(expression).unknown_names(), None)
        except EvaluationFailed as failure:
            raise InvalidEventHandler.of(field, f"must be CEL: {failure}") from failure
        if unknown is not None:
            raise InvalidEventHandler.of(field, f"must be CEL over event: {unknown} is unknown"[:REASON_LIMIT])

    async def evaluate(self, expressions: Sequence[str], variables: Variables) -> Sequence[Json | Failed]:
        """Evaluate each different expression once."""
        evaluation = _Evaluation(expressions)
        try:
            weight = Weight.of(variables)
            quick, others = self._split(evaluation, weight)
            await evaluation.in_place(quick, variables)
            await self._elsewhere(evaluation, others, variables)
        except TooDeep:
            evaluation.fail("the data nests too deep")
        except Exception as error:  # noqa: BLE001  # The port never raises, whatever the data are made of.
            evaluation.fail(f"the data cannot be read by an expression: {type(error).__name__}")
        return evaluation.outcomes()

    async def close(self) -> None:
        """End both processes at once."""
        await asyncio.gather(self._quick.close(), self._slow.close())

    def _split(self, evaluation: _Evaluation, weight: Weight) -> tuple[list[Parsed], list[str]]:
        quick: list[Parsed] = []
        others: list[str] = []
        for expression in evaluation.left():
            try:
                known = self._parsed(expression)
            except EvaluationFailed as failure:
                evaluation.note(expression, Failed(str(failure)[:REASON_LIMIT]))
                continue
            if known.is_quick(weight):
                quick.append(known)
            else:
                others.append(expression)
        return quick, others

    async def _elsewhere(self, evaluation: _Evaluation, expressions: Sequence[str], variables: Variables) -> None:
        if not expressions:
            return
        text = encoded(variables).encode()

        def hear(expression: str, answer: Answer) -> None:
            self._remember(expression, answer.seconds)
            evaluation.hear(expression, answer)

        lanes = (
            (self._quick, [expression for expression in expressions if expression not in self._slow_ones]),
            (self._slow, [expression for expression in expressions if expression in self._slow_ones]),
        )
        await asyncio.gather(*(lane.evaluate(text, part, hear) for lane, part in lanes if part))

    def _remember(self, expression: str, seconds: float) -> None:
        self._slow_ones.pop(expression, None)
        if seconds > _SLOW_SECONDS:
            self._slow_ones[expression] = None
        if len(self._slow_ones) > _KEPT:
            del self._slow_ones[next(iter(self._slow_ones))]


class _Evaluation:
    """What the expressions over the variables of one call came to so far."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._expressions = expressions
        self._found: dict[str, Json | Failed] = {}

    def left(self) -> list[str]:
        return [expression for expression in dict.fromkeys(self._expressions) if expression not in self._found]

    def note(self, expression: str, outcome: object) -> None:
        try:
            self._found[expression] = outcome if isinstance(outcome, Failed) else storable(outcome, limit=PAYLOAD_LIMIT)
        except NotStorable as refused:
            self._found[expression] = Failed(str(refused)[:REASON_LIMIT])

    def hear(self, expression: str, answer: Answer) -> None:
        self.note(expression, answer.value if answer.failed is None else Failed(answer.failed[:REASON_LIMIT]))

    def fail(self, reason: str) -> None:
        for expression in self.left():
            self._found[expression] = Failed(reason)

    async def in_place(self, quick: Iterable[Parsed], variables: Variables) -> None:
        context = None
        loop = asyncio.get_running_loop()
        breath = loop.time() + _BREATH_SECONDS
        for expression in quick:
            context = context or context_of(variables)
            try:
                self.note(expression.program.source, value_of(expression.program, context))
            except EvaluationFailed as failure:
                self.note(expression.program.source, Failed(str(failure)[:REASON_LIMIT]))
            if loop.time() > breath:
                await asyncio.sleep(0)
                breath = loop.time() + _BREATH_SECONDS

    def outcomes(self) -> list[Json | Failed]:
        return [self._found[expression] for expression in self._expressions]
