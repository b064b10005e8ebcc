from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.application.rig import Notes
from tocsin.adapters.memory import LocalBells
from tocsin.adapters.postgres import PostgresBells, open_database
from tocsin.ports.bells import DISPATCH, HEARTBEAT, TIMER, Bells


@pytest.fixture(params=["memory", "postgres"])
async def bells(request: pytest.FixtureRequest) -> AsyncIterator[Bells]:
    if request.param == "memory":
        yield LocalBells()
        return
    async with (
        open_database(request.getfixturevalue("postgres_access")) as database,
        PostgresBells(database, Notes()) as opened,
    ):
        yield opened


async def test_every_listener_of_the_node_that_rings_is_called_at_once(bells: Bells) -> None:
    heard: list[str] = []
    bells.listen(TIMER, lambda: heard.append("one"))
    bells.listen(TIMER, lambda: heard.append("another"))

    bells.ring(TIMER)

    assert heard == ["one", "another"]


async def test_a_listener_hears_its_own_bell_alone(bells: Bells) -> None:
    heard: list[str] = []
    bells.listen(TIMER, lambda: heard.append(TIMER))
    bells.listen(HEARTBEAT, lambda: heard.append(HEARTBEAT))

    bells.ring(HEARTBEAT)

    assert heard == [HEARTBEAT]


async def test_a_bell_that_nobody_listens_to_may_be_rung(bells: Bells) -> None:
    bells.ring(DISPATCH)
