"""The outbox in a file and in memory: whatever is done to both in whatever order, they agree, and keep their word."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.makers import START
from tocsin.adapters.memory import memory_storage
from tocsin.adapters.sqlite import open_sqlite
from tocsin.adapters.system import ManualClock
from tocsin.domain.errors import InvalidEvent
from tocsin.domain.facts import NODE_LOST, fact_of_node
from tocsin.ports.events import Outbox

T = TypeVar("T")

NAMES = st.sampled_from(["a", "b"])
TENANTS = st.sampled_from(["mine", "theirs"])
LEASE = timedelta(seconds=100)
REFUSED = "refused"


class OutboxesSideBySide(RuleBasedStateMachine):
    """`heard` are all the facts that somebody might have listened to, under a number each, as their subject."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.clock = ManualClock()
        self.made: dict[str, int] = {"mine": 0, "theirs": 0}
        self.followers: dict[tuple[str, str], tuple[str, int]] = {}

    @initialize()
    def open(self) -> None:
        folder = Path(self.stack.enter_context(TemporaryDirectory()))
        opened = self.runner.run(self.stack.enter_async_context(open_sqlite(folder / "tocsin.db", self.clock)))
        self.outboxes: list[Outbox] = [memory_storage(self.clock).outbox, opened.outbox]

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def ask(self, call: Callable[[Outbox], Awaitable[T]]) -> T | str:
        """Ask both, who must agree also about what they refuse."""

        async def answer(outbox: Outbox) -> T | str:
            try:
                return await call(outbox)
            except InvalidEvent:
                return REFUSED

        first, second = [self.runner.run(answer(outbox)) for outbox in self.outboxes]
        assert first == second
        return first

    @rule(tenant_id=TENANTS)
    def make_a_fact(self, tenant_id: str) -> None:
        self.made[tenant_id] += 1
        fact = fact_of_node(NODE_LOST, {}, tenant_id, subject=f"{self.made[tenant_id]}", now=START)
        self.ask(lambda outbox: outbox.append([fact]))

    @rule(name=NAMES, tenant_id=TENANTS)
    def begin_to_follow(self, name: str, tenant_id: str) -> None:
        position = self.listen(tenant_id, after=None)
        assert position != REFUSED
        self.followers[name, tenant_id] = position, self.made[tenant_id]

    @rule(name=NAMES, tenant_id=TENANTS)
    def come_back(self, name: str, tenant_id: str) -> None:
        """Whoever is let go on misses nothing that was made since."""
        if (name, tenant_id) not in self.followers:
            return
        position, heard = self.followers[name, tenant_id]
        if self.listen(tenant_id, after=position) == REFUSED:
            del self.followers[name, tenant_id]
            return
        page = self.ask(lambda outbox: outbox.read(after=position, limit=100, tenant_id=tenant_id))
        if isinstance(page, str):
            return
        made = self.made[tenant_id]
        assert [event.subject for event in page.events] == [f"{number}" for number in range(heard + 1, made + 1)]
        self.followers[name, tenant_id] = page.position, made

    def listen(self, tenant_id: str, *, after: str | None) -> str:
        return self.ask(
            lambda outbox: outbox.listen(
                f"watch {tenant_id}", tenant_id=tenant_id, pattern="tocsin.**", lease=LEASE, after=after
            )
        )

    @rule(seconds=st.sampled_from([1, 60, 99, 100]))
    def let_time_pass(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(name=NAMES, limit=st.integers(1, 3))
    def consume(self, name: str, limit: int) -> None:
        page = self.ask(lambda outbox: outbox.read(after=None, limit=limit))
        assert not isinstance(page, str)
        before = self.ask(lambda outbox: outbox.progress(name))
        self.ask(lambda outbox: outbox.advance(name, page.position))
        after = self.ask(lambda outbox: outbox.progress(name))
        assert int(str(after)) == max(int(page.position), int(before or 0))

    @rule(names=st.sets(NAMES), seconds=st.sampled_from([0, 50]), limit=st.integers(1, 3))
    def trim(self, names: set[str], seconds: int, limit: int) -> None:
        passed = [int(self.ask(lambda outbox, name=name: outbox.progress(name)) or 0) for name in names]  # type: ignore[misc]  # bound now
        before = self.positions()
        keep = timedelta(seconds=seconds)
        removed = self.ask(lambda outbox: outbox.trim(keep=keep, limit=limit, consumers=names))
        gone = set(before) - set(self.positions())
        assert removed == len(gone) <= limit
        assert all(int(position) <= min(passed, default=2**63) for position in gone)

    def positions(self) -> list[str]:
        page = self.ask(lambda outbox: outbox.read(after=None, limit=1000))
        assert not isinstance(page, str)
        return [*page.positions]

    @invariant()
    def nothing_stands_behind_the_end(self) -> None:
        if hasattr(self, "outboxes"):
            numbers = [int(position) for position in self.positions()]
            assert numbers == sorted(set(numbers))


TestOutboxesSideBySide = OutboxesSideBySide.TestCase
TestOutboxesSideBySide.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
