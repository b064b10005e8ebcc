"""What a shell may offer for a word that is half typed: from the server, if it answers within a blink."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from .place import Place

# Every command has such words, and few runs of one complete any.
if TYPE_CHECKING:
    from ...domain.event import EventHandler
    from ...domain.job import ScheduledJob
    from ...ports.scheduler import IScheduler
    from .factories import Factories

BLINK_SECONDS: Final = 0.5
MOST: Final = 50

_PLAIN: Final = re.compile(r"[\w./:@%+=,][\w./:@%+=,-]*")
_UNTOLD: Final = re.compile(r"[^\w ./:@%+=,()-]")
_TOLD: Final = 40

Offer: TypeAlias = tuple[str, str]
"""A word, and what is said beside it."""


def complete_job(ctx: typer.Context, incomplete: str) -> Sequence[Offer]:
    """Offer keys, names of one word, and ids of jobs."""
    from ...ports.queries import JobFilter  # noqa: PLC0415 - see above

    async def ask(scheduler: IScheduler) -> Iterable[Offer]:
        page = await scheduler.list_jobs(JobFilter(limit=MOST, name_contains=incomplete or None))
        if not page.items:
            page = await scheduler.list_jobs(JobFilter(limit=MOST))
        return [offer for job in page.items for offer in _names(job, incomplete)]

    return _offers(ctx, ask, incomplete)


def complete_execution(ctx: typer.Context, incomplete: str) -> Sequence[Offer]:
    """Offer the ids of the newest executions."""
    from ...ports.queries import ExecutionFilter  # noqa: PLC0415 - see above

    async def ask(scheduler: IScheduler) -> Iterable[Offer]:
        page = await scheduler.list_executions(ExecutionFilter(limit=MOST))
        return [(str(each.id), f"{each.status.value} {each.scheduled_at:%Y-%m-%dT%H:%M:%SZ}") for each in page.items]

    return _offers(ctx, ask, incomplete)


def complete_event(ctx: typer.Context, incomplete: str) -> Sequence[Offer]:
    """Offer the ids of the newest events."""
    from ...ports.queries import EventFilter  # noqa: PLC0415 - see above

    async def ask(scheduler: IScheduler) -> Iterable[Offer]:
        page = await scheduler.list_events(EventFilter(limit=MOST))
        return [(str(each.id), each.name) for each in page.items]

    return _offers(ctx, ask, incomplete)


def complete_event_handler(ctx: typer.Context, incomplete: str) -> Sequence[Offer]:
    """Offer the keys of event handlers, and the ids of those that have none which can be typed as it is."""

    async def ask(scheduler: IScheduler) -> Iterable[Offer]:
        page = await scheduler.list_event_handlers()
        return [(_key_or_id(each), each.definition.event) for each in page.items]

    return _offers(ctx, ask, incomplete)


def _key_or_id(handler: EventHandler) -> str:
    key = handler.definition.key
    return key if key and _PLAIN.fullmatch(key) else str(handler.id)


def complete_worker(ctx: typer.Context, incomplete: str) -> Sequence[Offer]:
    """Offer the ids of nodes."""

    async def ask(scheduler: IScheduler) -> Iterable[Offer]:
        return [(each.id, each.status) for each in await scheduler.list_workers()]

    return _offers(ctx, ask, incomplete)


def complete_profile(incomplete: str) -> Sequence[Offer]:
    """Offer the names of profiles."""
    from ...domain.errors import InvalidInput  # noqa: PLC0415 - see above
    from .profiles import load  # noqa: PLC0415 - see above

    with suppress(InvalidInput):
        return _fitting(load().servers.items(), incomplete)
    return []


def complete_zone(incomplete: str) -> Sequence[str]:
    """Offer the time zones that begin so."""
    from zoneinfo import available_timezones  # noqa: PLC0415 - see above

    return sorted(zone for zone in available_timezones() if zone.startswith(incomplete))


def _names(job: ScheduledJob, incomplete: str) -> Iterable[Offer]:
    """Give the words that stand for a job; only the first of them as long as nothing is typed."""
    definition = job.definition
    words = [word for word in (definition.key, definition.name) if word and _PLAIN.fullmatch(word)]
    every = list(dict.fromkeys([*words, str(job.id)]))
    told = f"{definition.name} ({job.status.value})"
    return [(word, told) for word in (every if incomplete else every[:1])]


def _offers(
    ctx: typer.Context, ask: Callable[[IScheduler], Coroutine[Any, Any, Iterable[Offer]]], incomplete: str
) -> Sequence[Offer]:
    """Ask the server that the words before name; nobody waits for one that is slow or away."""
    import asyncio  # noqa: PLC0415 - see above

    async def answered() -> Iterable[Offer]:
        factories: Factories = ctx.find_root().obj
        # What this imports takes longer than a server.
        opening = factories.connect(_place(ctx).address())
        async with asyncio.timeout(BLINK_SECONDS), opening as scheduler:
            return await ask(scheduler)

    # A shell would write what goes wrong into the line that is being typed.
    with suppress(Exception):
        return _fitting(asyncio.run(answered()), incomplete)
    return []


def _fitting(offers: Iterable[Offer], incomplete: str) -> Sequence[Offer]:
    """Keep what begins so and may stand in a line as it is: a shell would carry out what others call their jobs."""
    return [
        (word, _UNTOLD.sub(" ", told)[:_TOLD])
        for word, told in offers
        if word.startswith(incomplete) and _PLAIN.fullmatch(word)
    ]


def _place(ctx: typer.Context) -> Place:
    """Find the server that was named last before the word."""
    found = Place(server=ctx.params.get("server"), profile=ctx.params.get("profile"))
    return found if found or ctx.parent is None else _place(ctx.parent)  # type: ignore[arg-type]  # it is of ours
