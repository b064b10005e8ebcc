from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import pytest

from tests.application.rig import Rig
from tocsin.application.singleton import Singleton
from tocsin.domain.errors import StoreUnavailable
from tocsin.ports.locks import Locks, Token

LEASE = timedelta(minutes=3)


@dataclass
class Rounds:
    """An agent that counts its rounds."""

    done: int = 0
    error: Exception | None = field(default=None)

    async def run_once(self) -> float | None:
        if self.error is not None:
            raise self.error
        self.done += 1
        return 7.0


@dataclass
class Counting(Locks):
    """Locks that count renewals."""

    locks: Locks
    renewals: int = field(default=0)

    async def acquire(self, name: str, *, holder: str, lease: timedelta) -> Token | None:
        return await self.locks.acquire(name, holder=holder, lease=lease)

    async def renew(self, token: Token, lease: timedelta) -> bool:
        self.renewals += 1
        return await self.locks.renew(token, lease)

    async def release(self, token: Token) -> bool:
        return await self.locks.release(token)


def a_singleton(rig: Rig, holder: str, agent: Rounds) -> Singleton:
    return Singleton(agent=agent, locks=rig.storage.locks, clock=rig.clock, name="purge", holder=holder, lease=LEASE)


async def test_of_ten_nodes_one_does_the_rounds(rig: Rig) -> None:
    agents = [Rounds() for _ in range(10)]
    nodes = [a_singleton(rig, f"node-{number}", agent) for number, agent in enumerate(agents)]

    for _ in range(5):
        answers = [await node.run_once() for node in nodes]
        rig.clock.advance(60)

    assert [agent.done for agent in agents] == [5] + [0] * 9
    assert answers == [7.0] + [None] * 9


async def test_another_node_takes_over_once_the_lease_of_a_dead_one_lapsed(rig: Rig) -> None:
    dead, heir = Rounds(), Rounds()
    await a_singleton(rig, "dead", dead).run_once()
    node = a_singleton(rig, "heir", heir)
    rig.clock.advance(LEASE - timedelta(seconds=1))
    await node.run_once()
    assert heir.done == 0

    rig.clock.advance(1)
    await node.run_once()

    assert (dead.done, heir.done) == (1, 1)


async def test_a_node_that_lost_its_lock_skips_rounds_until_it_gets_it_back(rig: Rig) -> None:
    slow, quick = Rounds(), Rounds()
    paused, other = a_singleton(rig, "paused", slow), a_singleton(rig, "other", quick)
    await paused.run_once()
    rig.clock.advance(LEASE)
    await other.run_once()

    for _ in range(3):
        assert await paused.run_once() is None
        await other.run_once()

    assert (slow.done, quick.done) == (1, 4)
    await other.hand_over()
    assert await paused.run_once() == 7.0


async def test_a_lock_that_is_handed_over_is_free_at_once(rig: Rig) -> None:
    leaving, heir = a_singleton(rig, "leaving", Rounds()), a_singleton(rig, "heir", Rounds())
    await leaving.run_once()

    await leaving.hand_over()
    await leaving.hand_over()

    assert await heir.run_once() == 7.0
    assert await leaving.run_once() is None


async def test_a_node_is_told_once_when_its_lock_is_gone(rig: Rig) -> None:
    told: list[str] = []
    paused, other = a_singleton(rig, "paused", Rounds()), a_singleton(rig, "other", Rounds())
    for node in (paused, other):
        node.lost = partial(told.append, node.holder)
    await paused.run_once()
    rig.clock.advance(LEASE)
    await other.run_once()
    assert told == []

    for _ in range(3):
        await paused.run_once()
    assert told == ["paused"]

    for _ in range(2):
        await other.hand_over()
    assert told == ["paused", "other"]


async def test_a_node_that_never_had_the_lock_hands_over_nothing(rig: Rig) -> None:
    holder, idle = a_singleton(rig, "holder", Rounds()), a_singleton(rig, "idle", Rounds())
    await holder.run_once()
    await idle.run_once()

    await idle.hand_over()

    assert await idle.run_once() is None


async def test_a_round_that_fails_is_the_same_nodes_to_repeat(rig: Rig) -> None:
    agent = Rounds(error=StoreUnavailable("gone"))
    node = a_singleton(rig, "node", agent)
    with pytest.raises(StoreUnavailable):
        await node.run_once()
    agent.error = None

    assert await a_singleton(rig, "other", Rounds()).run_once() is None
    assert await node.run_once() == 7.0


async def test_the_lock_is_renewed_no_more_often_than_three_times_in_a_lease(rig: Rig) -> None:
    agent, asked = Rounds(), Counting(rig.storage.locks)
    node = a_singleton(rig, "node", agent)
    node.locks = asked

    for _ in range(LEASE.seconds):
        assert await node.run_once() == 7.0
        rig.clock.advance(1)

    assert agent.done == LEASE.seconds
    assert asked.renewals == 2
