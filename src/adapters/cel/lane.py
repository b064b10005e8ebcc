"""A queue of events whose expressions may take long, before a process of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from .process import Answer, EvaluatorProcess, ProcessLost

_CLOSED = Answer(value=None, failed="the node is stopping", seconds=0.0)


class Batch:
    """Expressions over the same variables; `done` once each of them has its answer."""

    def __init__(self, variables: bytes, expressions: Sequence[str]) -> None:
        self.variables = variables
        self.answers: dict[str, Answer] = {}
        self.done = asyncio.get_running_loop().create_future()
        self._expressions = expressions

    def left(self) -> Sequence[str]:
        """Those that have no answer yet, in their order."""
        return self._expressions[len(self.answers) :]

    def answer(self, answer: Answer) -> None:
        """Take the answer of the first that has none."""
        self.answers[self._expressions[len(self.answers)]] = answer
        if not self.left() and not self.done.done():
            self.done.set_result(None)

    def close(self) -> None:
        """Answer all that is left: it is not evaluated any more."""
        for _ in self.left():
            self.answer(_CLOSED)


class Lane:
    """
    Evaluates batches in turns, so that none waits for all that another one has to do.

    The process is started when it is first needed, and again after it was lost.
    """

    def __init__(self) -> None:
        self._waiting: deque[Batch] = deque()
        self._process: EvaluatorProcess | None = None
        self._work: asyncio.Task[None] | None = None
        self._closed = False

    async def evaluate(
        self, variables: bytes, expressions: Sequence[str], heard: Callable[[str, Answer], None]
    ) -> None:
        """Evaluate different expressions, and tell what each came to; never raises."""
        batch = Batch(variables, expressions)
        self._waiting.append(batch)
        if self._closed:
            batch.close()
        elif self._work is None or self._work.done():
            self._work = asyncio.create_task(self._take_turns(), name="tocsin evaluates expressions")
        await batch.done
        for expression, answer in batch.answers.items():
            heard(expression, answer)

    async def close(self) -> None:
        """End the process at once; what is not answered yet is a failure."""
        self._closed = True
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        for batch in self._waiting:
            batch.close()
        if self._process is not None:
            await self._process.end()

    async def _take_turns(self) -> None:
        while self._waiting:
            batch = self._waiting[0]
            if not batch.done.done():
                await self._turn(batch)
            self._waiting.popleft()
            if batch.left() and not batch.done.done():
                self._waiting.append(batch)

    async def _turn(self, batch: Batch) -> None:
        try:
            process = await self._running()
            async for answer in process.answers(batch.variables, batch.left()):
                batch.answer(answer)
        except ProcessLost as lost:
            self._process = None
            batch.answer(Answer(value=None, failed=str(lost), seconds=float("inf")))

    async def _running(self) -> EvaluatorProcess:
        if self._process is None or self._process.has_ended:
            self._process = await EvaluatorProcess.start()
        return self._process
