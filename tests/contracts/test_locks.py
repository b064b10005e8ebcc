from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.memory import memory_storage
from tocsin.adapters.system import ManualClock
from tocsin.ports.locks import Locks, Token
from tocsin.ports.storage import Storage

NAME = "retention"
LEASE = timedelta(seconds=30)
SECOND = timedelta(seconds=1)


@pytest.fixture
def locks(storage: Storage) -> Locks:
    return storage.locks


async def acquire(locks: Locks, name: str = NAME, *, lease: timedelta = LEASE) -> Token | None:
    return await locks.acquire(name, holder="node-1#a", lease=lease)


async def acquired(locks: Locks, name: str = NAME, *, lease: timedelta = LEASE) -> Token:
    token = await acquire(locks, name, lease=lease)
    assert token is not None
    return token


async def test_of_many_who_try_at_once_one_gets_the_lock(locks: Locks) -> None:
    tokens = await asyncio.gather(*(acquire(locks) for _ in range(20)))

    assert sum(token is not None for token in tokens) == 1


async def test_nobody_gets_a_lock_that_is_held_not_even_its_holder(locks: Locks) -> None:
    token = await acquired(locks)

    assert await acquire(locks) is None
    assert await locks.renew(token, LEASE)


async def test_locks_of_different_names_do_not_know_each_other(locks: Locks) -> None:
    first = await acquired(locks, "one")
    second = await acquired(locks, "two")

    assert await locks.release(first)
    assert await acquire(locks, "two") is None
    assert await locks.renew(second, LEASE)


async def test_a_released_lock_can_be_taken(locks: Locks) -> None:
    first = await acquired(locks)

    assert await locks.release(first)

    assert await acquire(locks) is not None


async def test_a_lock_lapses_by_the_stores_clock(locks: Locks, clock: ManualClock) -> None:
    await acquired(locks)
    clock.advance(LEASE - SECOND)
    assert await acquire(locks) is None

    clock.advance(SECOND)

    assert await acquire(locks) is not None


async def test_a_renewed_lock_lapses_its_new_lease_after_the_renewal(locks: Locks, clock: ManualClock) -> None:
    token = await acquired(locks)
    clock.advance(20)

    assert await locks.renew(token, timedelta(seconds=60))

    clock.advance(59)
    assert await acquire(locks) is None
    clock.advance(1)
    assert await acquire(locks) is not None


async def test_a_lapsed_lock_that_nobody_took_can_still_be_renewed(locks: Locks, clock: ManualClock) -> None:
    token = await acquired(locks)
    clock.advance(3600)

    assert await locks.renew(token, LEASE)

    assert await acquire(locks) is None


async def test_a_token_that_was_overtaken_changes_nothing(locks: Locks, clock: ManualClock) -> None:
    late = await acquired(locks)
    clock.advance(LEASE)
    successor = await acquired(locks)

    assert not await locks.renew(late, timedelta(days=1))
    assert not await locks.release(late)

    assert await acquire(locks) is None
    assert await locks.renew(successor, LEASE)


async def test_a_released_token_is_of_no_more_use(locks: Locks) -> None:
    token = await acquired(locks)
    await locks.release(token)

    assert not await locks.release(token)
    assert not await locks.renew(token, LEASE)
    assert await acquire(locks) is not None


async def test_a_token_that_was_made_up_opens_nothing(locks: Locks) -> None:
    token = await acquired(locks)

    for forged in (replace(token, secret="0" * 32), replace(token, name="other")):
        assert not await locks.renew(forged, LEASE)
        assert not await locks.release(forged)
    assert await acquire(locks) is None


async def test_the_fence_rises_with_each_acquisition_released_or_lapsed(locks: Locks, clock: ManualClock) -> None:
    first = await acquired(locks)
    await locks.release(first)
    second = await acquired(locks)
    clock.advance(LEASE)
    third = await acquired(locks)

    assert [first.fence, second.fence, third.fence] == [1, 2, 3]
    assert len({first.secret, second.secret, third.secret}) == 3
    assert all(len(token.secret) == 32 for token in (first, second, third))


async def test_a_clock_that_is_set_back_takes_the_lock_from_no_holder_that_lives(
    locks: Locks, clock: ManualClock
) -> None:
    token = await acquired(locks)
    clock.jump_wall(-timedelta(hours=1))

    for _ in range(10):
        assert await acquire(locks) is None
        clock.advance(LEASE / 3)
        assert await locks.renew(token, LEASE)


async def test_a_clock_that_is_set_back_does_not_keep_the_lock_with_the_dead(locks: Locks, clock: ManualClock) -> None:
    await acquired(locks)
    clock.jump_wall(-timedelta(hours=1))

    assert await acquire(locks) is None
    clock.advance(LEASE - SECOND)
    assert await acquire(locks) is None
    clock.advance(SECOND)

    assert await acquire(locks) is not None


@given(st.lists(st.tuples(st.sampled_from(["acquire", "renew", "release", "wait"]), st.integers(0, 3)), max_size=40))
def test_whatever_happens_at_most_one_token_holds_a_lock(steps: list[tuple[str, int]]) -> None:
    async def story() -> None:
        clock = ManualClock()
        locks = memory_storage(clock).locks
        tokens: list[Token] = []
        for step, number in steps:
            token = tokens[-1 - number] if len(tokens) > number else None
            match step:
                case "acquire":
                    tokens += [taken] if (taken := await acquire(locks)) else []
                case "renew" if token is not None:
                    assert not await locks.renew(token, LEASE) or token is tokens[-1]
                case "release" if token is not None:
                    assert not await locks.release(token) or token is tokens[-1]
                case _:
                    clock.advance(LEASE / 2 * number)
        assert [token.fence for token in tokens] == list(range(1, len(tokens) + 1))

    asyncio.run(story())
