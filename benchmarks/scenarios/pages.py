"""How soon a person who opens the dashboard sees something, and all of it, where there are many jobs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from typing import Final

from playwright.async_api import Browser, Page, ViewportSize, async_playwright

from tocsin import JobDefinition, JobType
from tocsin.adapters.http import HttpScheduler
from tocsin.adapters.http.dashboard import load_dashboard

from ..engines import Engine, Place
from ..figures import Figure, cost, spread
from ..handlers import NOOP
from ..nodes import client, serving
from ..scenario import Case, Options, Scenario

AT_ONCE: Final = 1_000
PATIENCE_MS: Final = 30_000
_WINDOW: Final[ViewportSize] = {"width": 1280, "height": 800}
FLAGS: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")

_FIRST_PAINT: Final = """
() => new Promise(told => new PerformanceObserver(seen => {
    const paint = seen.getEntriesByName("first-contentful-paint")[0];
    const before = () => performance.getEntriesByType("resource").filter(each => each.responseEnd <= paint.startTime);
    if (paint) told([paint.startTime, 1 + before().length]);
}).observe({type: "paint", buffered: true}))
"""
"""Tells when something was painted, and how many requests had been answered by then."""

_LOADED: Final = '.job-name, .figures .stat-value a:text-matches("[0-9]")'
"""What is there once the node has answered: a row of the list, or a figure that is none of its dashes."""

_AWAITED: Final = ".loading, .strip-bone"
_ALONE: Final = "/health"
"""A page of one line, which tells what a browser and a node take for any page."""


async def _run(place: Place, options: Options) -> Sequence[Figure]:
    async with client(place) as scheduler:
        for first in range(0, options["jobs"], AT_ONCE):
            await scheduler.schedule_many([_job(number) for number in range(first, first + AT_ONCE)])
    async with serving(place, name="node") as served, async_playwright() as playwright:
        async with HttpScheduler(served.url) as scheduler:
            if (found := (await scheduler.list_jobs()).total) != options["jobs"]:
                raise AssertionError(f"{found} jobs are there, not {options['jobs']}")
        browser = await playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        figures = [_size(), *await _floor(browser, served.url + _ALONE, times=options["times"])]
        for name, path in {"now": "/", "jobs": "/jobs", "jobs, by name, far on": "/jobs?sort=name&offset=9000"}.items():
            figures += await _opened(browser, served.url + path, name=name, times=options["times"])
        await browser.close()
    return figures


def _job(number: int) -> JobDefinition:
    return JobDefinition(
        name=f"Job {number:05}",
        type=JobType.CRON,
        schedule=f"{number % 60} 4 1 1 *",
        timezone=("UTC", "Europe/Berlin", "Asia/Tokyo")[number % 3],
        tags=(f"team-{number % 20}",),
        handler_name=NOOP,
    )


def _chromium() -> str:
    if (found := shutil.which("chromium")) is None:
        raise RuntimeError("there is no chromium: apt-get install chromium")
    return found


def _size() -> Figure:
    """Tell how much script there is in all, as it goes over the wire."""
    sent = sum(len(asset.compressed or asset.body) for asset in load_dashboard().scripts.values())
    return cost("script, compressed", sent / 1000, "kB")


async def _floor(browser: Browser, url: str, *, times: int) -> Sequence[Figure]:
    """Open a page that asks for nothing but itself, in browsers that have nothing of it yet."""
    painted = []
    for _ in range(times + 1):
        context = await browser.new_context(viewport=_WINDOW)
        page = await context.new_page()
        await page.goto(url, wait_until="commit")
        painted.append((await _first_paint(page))[0])
        await context.close()
    return spread("a page of one line, first paint", painted[1:], "ms")


async def _opened(browser: Browser, url: str, *, name: str, times: int) -> Sequence[Figure]:
    """Open a page in browsers that have nothing of it yet, but one that warms up the node."""
    painted, asked, loaded = [], [], []
    for _ in range(times + 1):
        context = await browser.new_context(viewport=_WINDOW)
        first, before, all_there = await _seen(await context.new_page(), url)
        painted.append(first)
        asked.append(before)
        loaded.append(all_there)
        await context.close()
    return [
        *spread(f"{name}, first paint", painted[1:], "ms"),
        cost(f"{name}, requests before it", max(asked[1:]), "1"),
        *spread(f"{name}, loaded", loaded[1:], "ms"),
    ]


async def _seen(page: Page, url: str) -> tuple[float, float, float]:
    """Tell after how many ms and requests a page painted, and after how many ms it showed what it asked for."""
    started = time.perf_counter()
    await page.goto(url, wait_until="commit")
    await page.locator(_LOADED).first.wait_for(timeout=PATIENCE_MS)
    loaded = (time.perf_counter() - started) * 1000
    first, before = await _first_paint(page)
    # What is asked beside it would else be a load on the node while the next one opens the page.
    while await page.locator(_AWAITED).count():
        await page.locator(_AWAITED).first.wait_for(state="detached", timeout=PATIENCE_MS)
    return first, before, loaded


async def _first_paint(page: Page) -> tuple[float, float]:
    first, before = await page.evaluate(_FIRST_PAINT)
    return float(first), float(before)


PAGES: Final = Scenario(
    name="pages",
    summary="the dashboard opened in Chromium by somebody who has nothing of it yet",
    run=_run,
    cases=[Case(name="10,000 jobs", options={"jobs": 10_000, "times": 20})],
    quick=[Case(name="10,000 jobs", options={"jobs": 10_000, "times": 5})],
    engines=(Engine.SQLITE, Engine.POSTGRES),
    headlines=["jobs, first paint p50", "jobs, loaded p50"],
    most_runs=1,
)
