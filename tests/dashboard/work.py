"""What a small shop has a scheduler do: handlers that take time, fail now and then, and say so in their logs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

from tocsin import HandlerContext, handler

LONG_SECONDS: Final = 900.0


class Pace:
    """How a handler lets time pass; whoever plays a day through puts the day's clock in its place."""

    wait: Callable[[float], Awaitable[None]] = staticmethod(asyncio.sleep)


def _chance(context: HandlerContext) -> float:
    """Draw from 0..1, the same for the same attempt."""
    seed = f"{context.job_name} {context.scheduled_at.isoformat()} {context.attempt}"
    return int.from_bytes(sha256(seed.encode()).digest()[:4]) / 2**32


@handler("shop.steady")
async def steady(context: HandlerContext) -> dict[str, int]:
    """Do as one does, in about as long as always."""
    orders = round(40 + 60 * _chance(context))
    context.logger.info("looking", since=context.scheduled_at.isoformat())
    await Pace.wait(0.08 + 0.3 * _chance(context))
    context.logger.info("done", orders=orders)
    return {"orders": orders}


@handler("shop.heavy")
async def heavy(context: HandlerContext) -> dict[str, int]:
    """Take seconds, and longer towards the evening."""
    await Pace.wait(1.5 + context.scheduled_at.hour / 8 + 2 * _chance(context))
    return {"documents": 18_400 + context.scheduled_at.hour * 310}


@handler("shop.flaky")
async def flaky(context: HandlerContext) -> dict[str, str]:
    """Reach a warehouse that is away one hour in six."""
    context.logger.info("connecting", host="warehouse.example", attempt=context.attempt)
    await Pace.wait(0.2 + 0.5 * _chance(context))
    if context.scheduled_at.hour % 6 == 1 or _chance(context) < 0.08:
        context.logger.error("refused", host="warehouse.example")
        raise ConnectionError("warehouse.example:5432 refused the connection")
    return {"synced": "all shelves"}


@handler("shop.slow_bank")
async def slow_bank(context: HandlerContext) -> dict[str, int]:
    """Ask a bank that sometimes takes longer than anybody waits."""
    if _chance(context) < 0.03:
        # A time-out is the event loop's to tell, whatever clock the day is played on.
        await asyncio.sleep(LONG_SECONDS)
    await Pace.wait(0.15 + 0.2 * _chance(context))
    return {"charged": 3}


@handler("shop.long")
async def long(context: HandlerContext) -> dict[str, int]:
    """Go on for a quarter of an hour."""
    context.logger.info("begun", photos=12_000)
    for done in range(1, 101):
        await asyncio.sleep(LONG_SECONDS / 100)
        context.logger.info("moved", photos=done * 120)
    return {"photos": 12_000}
