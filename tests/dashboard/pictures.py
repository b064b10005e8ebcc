"""Takes the pictures of the documentation: `python -m tests.dashboard.pictures [NAME ...]`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.dashboard.asking import job_called, newest
from tests.dashboard.browsing import NARROW, THEMES, WIDE, Visitor, launched, visiting
from tests.dashboard.day import open_shop, play
from tests.dashboard.orders import trade
from tests.dashboard.serving import serving

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
COLOURS: Final = 256
"""A page has few, so that a palette of them makes a picture a third as large and no worse to look at."""

Go = Callable[[Visitor], None]


def _now(visitor: Visitor) -> None:
    visitor.open("/", "Now")
    visitor.page.locator(".chart canvas").nth(1).wait_for()


def _jobs(visitor: Visitor) -> None:
    visitor.open("/jobs", "Jobs")


def _bulk(visitor: Visitor) -> None:
    visitor.open("/jobs?tag=money", "Jobs")
    for box in visitor.page.locator("tbody .pick input").all():
        box.check()
    visitor.page.get_by_role("region", name="Jobs that are picked").get_by_role("button", name="Pause").click()
    visitor.page.locator(".told-jobs").wait_for()


def _job(visitor: Visitor) -> None:
    visitor.open(f"/jobs/{job_called(visitor, 'backup')}", "Nightly backup")
    visitor.page.get_by_role("table", name="Executions of this job").wait_for()


def _edit(visitor: Visitor) -> None:
    visitor.open(f"/jobs/{job_called(visitor, 'carts')}?edit=1", "Edit Remind of open carts")
    visitor.page.get_by_label("Cron", exact=True).and_(visitor.page.get_by_role("textbox")).fill("*/30 * * * *")
    visitor.page.locator(".times.is-difference").wait_for()
    visitor.page.locator(".times.is-difference").scroll_into_view_if_needed()


def _execution(visitor: Visitor) -> None:
    execution = newest(visitor, f"status=failed&origin=schedule&job_id={job_called(visitor, 'stock')}")
    visitor.open(f"/executions/{execution}", "Execution of Sync stock with the warehouse")
    visitor.page.get_by_text("complete", exact=True).wait_for()
    # Folded, since a stack names files of whoever takes the picture.
    visitor.page.get_by_text("Where it came from").click()


def _executions(visitor: Visitor) -> None:
    visitor.open("/executions", "Executions")


def _new_job(visitor: Visitor) -> None:
    visitor.open("/jobs/new", "New job")
    visitor.page.get_by_label("Name").fill("Send invoices")
    visitor.page.locator(".times").wait_for()


def _events(visitor: Visitor) -> None:
    trade(visitor.page.request)
    visitor.open("/events", "Events")


def _event(visitor: Visitor) -> None:
    trade(visitor.page.request)
    visitor.open("/events?source=bank", "Events")
    visitor.page.get_by_role("link", name="order.paid").first.click()
    visitor.page.get_by_role("link", name="Look at large orders").wait_for()


def _event_handlers(visitor: Visitor) -> None:
    trade(visitor.page.request)
    visitor.open("/event-handlers", "Event handlers")


def _event_handler(visitor: Visitor) -> None:
    _event_handlers(visitor)
    visitor.page.get_by_role("link", name="Look at large orders").click()
    visitor.page.get_by_role("table", name="Events it was asked about").wait_for()


def _filter(visitor: Visitor) -> None:
    visitor.open("/event-handlers/new", "New event handler")
    rule = visitor.page.get_by_role("region", name="This event, this filter")
    rule.get_by_label("Event").fill("order.*")
    rule.get_by_label("Filter").fill("event.data.total > 100")
    visitor.page.get_by_role("status").filter(has_text="comes to true").wait_for()


PAGES: Final[Mapping[str, Go]] = MappingProxyType(
    {
        "now": _now,
        "jobs": _jobs,
        "bulk": _bulk,
        "job": _job,
        "edit": _edit,
        "execution": _execution,
        "executions": _executions,
        "new-job": _new_job,
        "events": _events,
        "event": _event,
        "event-handlers": _event_handlers,
        "event-handler": _event_handler,
        "filter": _filter,
    }
)


def take(browser: Browser, url: str, name: str) -> None:
    """Take a page in both themes, and as a phone shows its beginning."""
    for theme in THEMES:
        for width in (WIDE, NARROW) if theme == "light" else (WIDE,):
            with visiting(browser, url, width=width, theme=theme) as visitor:
                PAGES[name](visitor)
                suffix = "" if theme == "light" else "-dark"
                path = FOLDER / f"{name}{suffix}{'' if width == WIDE else '-narrow'}.png"
                path.write_bytes(_small(visitor.page.screenshot()))


def _small(picture: bytes) -> bytes:
    """Write a PNG again with few colours."""
    written = BytesIO()
    # By coverage, so that a few red pixels keep their colour beside many grey ones.
    few = (
        Image.open(BytesIO(picture))
        .convert("RGB")
        .quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    few.save(written, "PNG", optimize=True)
    return written.getvalue()


def main(names: list[str]) -> None:
    """Play a day at the shop, and take pictures of these pages, or of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        database = Path(folder, "tocsin.db")
        asyncio.run(play(database))
        with serving(Path(folder), database) as url:
            asyncio.run(open_shop(url))
            with sync_playwright() as playwright, launched(playwright) as browser:
                for name in names or PAGES:
                    take(browser, url, name)


if __name__ == "__main__":
    main(sys.argv[1:])
