from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from typing import cast

import pytest

from tests.application.rig import Rig
from tests.makers import START
from tocsin.application.following import LEASE, TELL_SECONDS
from tocsin.domain.errors import InvalidEvent
from tocsin.domain.facts import NODE_LOST, fact_of_node
from tocsin.domain.job import DEFAULT_TENANT
from tocsin.ports.event_requests import FeedItem


def feed(rig: Rig, after: str | None = None) -> AsyncGenerator[FeedItem, None]:
    return cast("AsyncGenerator[FeedItem, None]", rig.scheduler.watch(after=after))


async def position_of(rig: Rig) -> str:
    """Follow for a moment; answer where to go on."""
    async with aclosing(feed(rig)) as items:
        return (await anext(items)).position


async def lose(rig: Rig, subject: str) -> None:
    """Have a fact happen, told apart by its subject."""
    fact = fact_of_node(NODE_LOST, {"node": subject}, DEFAULT_TENANT, subject=subject, now=START)
    await rig.storage.outbox.append([fact])


async def next_subject(items: AsyncIterator[FeedItem]) -> str | None:
    async for item in items:
        if item.fact is not None:
            return item.fact.subject
    raise AssertionError("the feed ended")


async def test_who_comes_back_in_time_misses_nothing(rig: Rig) -> None:
    position = await position_of(rig)
    await lose(rig, "a")
    rig.clock.advance(LEASE - timedelta(seconds=1))
    await lose(rig, "b")

    async with aclosing(feed(rig, position)) as items:
        assert [await next_subject(items), await next_subject(items)] == ["a", "b"]


async def test_who_comes_back_after_a_time_in_which_nobody_listened_is_told_so_at_once(rig: Rig) -> None:
    position = await position_of(rig)
    rig.clock.advance(LEASE)
    await lose(rig, "missed")

    for _ in range(2):
        with pytest.raises(InvalidEvent, match="position"):
            await anext(feed(rig, position))


async def test_another_follower_of_the_tenant_keeps_what_one_that_is_away_comes_back_for(rig: Rig) -> None:
    position = await position_of(rig)
    async with aclosing(feed(rig)) as other:
        await anext(other)
        for number in range(10):
            rig.clock.advance(TELL_SECONDS)
            await lose(rig, f"n{number}")
            assert await next_subject(other) == f"n{number}"

    async with aclosing(feed(rig, position)) as items:
        assert [await next_subject(items) for _ in range(10)] == [f"n{number}" for number in range(10)]


async def test_a_follower_that_was_held_up_for_longer_than_its_lease_is_told_so(rig: Rig) -> None:
    async with aclosing(feed(rig)) as items:
        await anext(items)
        await lose(rig, "a")
        assert await next_subject(items) == "a"
        rig.clock.advance(LEASE)
        await lose(rig, "missed")

        with pytest.raises(InvalidEvent, match="position"):
            await anext(items)
