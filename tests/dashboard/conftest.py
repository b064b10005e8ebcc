"""A shop that has been open for a day, and a browser to look at it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.dashboard.browsing import PATIENCE_MS, Visitor, chromium, launched, visiting
from tests.dashboard.day import open_shop, play
from tests.dashboard.serving import serving

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database of a day, which nobody changes."""
    chromium()
    folder = tmp_path_factory.mktemp("day")
    asyncio.run(play(folder / "tocsin.db"))
    return folder


@pytest.fixture(scope="module")
def shop(day: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a node that has a day behind it; tests of a module share it and change only jobs of their own."""
    folder = shutil.copytree(day, tmp_path_factory.mktemp("shop"), dirs_exist_ok=True)
    with serving(folder, folder / "tocsin.db") as url, ThreadPoolExecutor(1) as beside_the_browser:
        beside_the_browser.submit(asyncio.run, open_shop(url)).result()
        yield url


@pytest.fixture(scope="package")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a node that knows no job."""
    chromium()
    folder = tmp_path_factory.mktemp("empty")
    with serving(folder, folder / "tocsin.db") as url:
        yield url


# What needs a loop goes first: from then on until the last of these tests the thread has Playwright's.
@pytest.fixture(scope="package")
def browser(day: Path, empty: str) -> Iterator[Browser]:  # noqa: ARG001 - as said
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@pytest.fixture
def visit(browser: Browser, shop: str) -> Iterator[Callable[..., Visitor]]:
    """Open windows on the shop; see `visiting`."""
    with ExitStack() as stack:

        def open_window(url: str = shop, **options: Any) -> Visitor:  # noqa: ANN401 - as visiting takes them
            return stack.enter_context(visiting(browser, url, **options))

        yield open_window
