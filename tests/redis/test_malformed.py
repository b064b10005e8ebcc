from __future__ import annotations

import pytest

from tests.redis.pipes import Pipes, a_dispatch, take

SOUND_ID = b"018f0000-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    "fields",
    [
        {b"nonsense": b"yes"},
        {b"execution": b"no id", b"priority": b"50"},
        {b"execution": SOUND_ID},
        {b"execution": SOUND_ID, b"priority": b"urgent"},
        {b"execution": b"\xff\xfe", b"priority": b"50"},
    ],
)
async def test_an_entry_that_cannot_be_read_is_set_aside_and_counted(pipes: Pipes, fields: dict[bytes, bytes]) -> None:
    node = await pipes.node()
    before, after = a_dispatch(), a_dispatch()
    await node.dispatch([before])
    await pipes.redis.xadd(pipes.key(), dict(fields))
    await node.dispatch([after])

    assert await take(node) == [before, after]

    assert node.malformed == 1
    assert pipes.notes.of("dispatch.malformed") == [{"entries": 1, "in_all": 1}]
    await node.acknowledge([before, after])
    assert await pipes.length() == 0
    [(_, kept)] = await pipes.redis.xrange(f"{{{pipes.prefix}}}:unreadable")
    assert kept.items() >= fields.items()
    assert kept[b"stream"] == pipes.key().encode()


async def test_an_entry_that_cannot_even_be_set_aside_still_blocks_nobody(pipes: Pipes) -> None:
    node = await pipes.node()
    await pipes.redis.set(f"{{{pipes.prefix}}}:unreadable", "in the way")
    await pipes.redis.xadd(pipes.key(), {"nonsense": "yes"})
    dispatch = a_dispatch()
    await node.dispatch([dispatch])

    assert await take(node) == [dispatch]
    assert node.malformed == 1
    assert await pipes.length() == 1


async def test_a_receiver_that_waits_is_not_woken_for_an_entry_that_nobody_can_read(pipes: Pipes) -> None:
    node = await pipes.node()
    await pipes.redis.xadd(pipes.key(), {"nonsense": "yes"})

    assert await take(node, wait=0.05) == []
    assert node.malformed == 1
