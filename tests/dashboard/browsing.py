"""A person at a browser: a real Chromium on a real node, which tells what a test would not see by itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from re import Pattern
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

Theme = Literal["light", "dark"]

NARROW: Final = 360
WIDE: Final = 1280
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
WIDTHS: Final = (NARROW, WIDE)
ZONE: Final = "Europe/Berlin"

FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS: Final = 30_000
"""How long something may take to show; a loaded machine is slow, not wrong."""

_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
_AXE: Final = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def chromium() -> Path:
    """Find Debian's Chromium; without it a test is skipped, but on CI, where it must be there, it fails."""
    found = shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        pytest.fail("there is no chromium: apt-get install chromium")
    if found is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    return Path(found)


@contextmanager
def launched(playwright: Playwright) -> Iterator[Browser]:
    """Start a browser of one's own."""
    browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
    try:
        yield browser
    finally:
        browser.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who looks at one node's dashboard; `wrong` is what the browser had to complain about."""

    page: Page
    url: str
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str, heading: str) -> None:
        """Go to a page, and wait until it and all that it asks for is there."""
        self.page.goto(self.url + path)
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is awaited any more."""
        expect(self.page.locator(".loading, .strip-bone")).to_have_count(0)

    def audit(self) -> list[str]:
        """Have axe look for what keeps somebody out; answers what it found, and where."""
        # Past its policy, which lets nothing into the page that the node does not serve.
        self.page.evaluate(_AXE)
        told = self.page.evaluate("rules => axe.run(document, {runOnly: rules})", _RULES)
        return [
            f"{each['id']}: {node['html']}: {node['failureSummary']}"
            for each in told["violations"]
            for node in each["nodes"]
        ]

    def is_too_wide(self) -> bool:
        """Tell whether one would have to scroll sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@contextmanager
def visiting(browser: Browser, url: str, *, width: int = WIDE, theme: Theme = "light") -> Iterator[Visitor]:
    """Open a window; at its end nothing may have gone wrong in it, nor been asked of another host."""
    context = browser.new_context(
        base_url=url,
        viewport={"width": width, "height": 800},
        color_scheme=theme,
        timezone_id=ZONE,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    visitor = Visitor(page=context.new_page(), url=url)
    _watch(visitor)
    try:
        yield visitor
        assert visitor.wrong == []
    finally:
        context.close()


def _watch(visitor: Visitor) -> None:
    page, wrong = visitor.page, visitor.wrong
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on(
        "console", lambda line: wrong.append(f"{line.type}: {line.text}") if line.type in {"error", "warning"} else None
    )
    page.on(
        "request", lambda request: None if request.url.startswith(visitor.url) else wrong.append(f"asked {request.url}")
    )


def answer_with(page: Page, pattern: str | Pattern[str], *, status: int, body: Any) -> None:  # noqa: ANN401 - JSON
    """Have requests whose address matches answered so, as a node in trouble would."""
    page.route(pattern, lambda route: route.fulfill(status=status, json=body, content_type="application/problem+json"))
