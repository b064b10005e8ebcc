from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.dashboard.browsing import NARROW, Visitor

Visit = Callable[..., Visitor]


@pytest.mark.parametrize(("keys", "heading"), [("gj", "Jobs"), ("gx", "Executions"), ("ge", "Events"), ("gn", "Now")])
def test_two_keys_lead_to_a_page_and_the_focus_to_its_heading(visit: Visit, keys: str, heading: str) -> None:
    visitor = visit()
    visitor.open("/jobs" if keys == "gn" else "/", "Jobs" if keys == "gn" else "Now")

    for key in keys:
        visitor.page.keyboard.press(key)

    title = visitor.page.get_by_role("heading", level=1)
    expect(title).to_have_text(re.compile(f"^{heading}"))
    expect(title).to_be_focused()
    expect(visitor.page).to_have_title(f"{heading} · Tocsin")


def test_the_first_tab_skips_to_the_content(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")

    visitor.page.keyboard.press("Tab")
    expect(visitor.page.get_by_role("link", name="Skip to the content")).to_be_focused()
    visitor.page.keyboard.press("Enter")

    expect(visitor.page.get_by_role("heading", level=1)).to_be_focused()


def test_the_keys_are_told_and_escape_gives_the_focus_back(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")
    button = visitor.page.get_by_role("button", name="Keys")

    button.click()
    dialog = visitor.page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Next theme")
    assert visitor.audit() == []
    visitor.page.keyboard.press("Escape")

    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


def test_a_theme_that_is_chosen_wins_over_the_systems_and_stays(visit: Visit) -> None:
    visitor = visit(theme="light")
    visitor.open("/", "Now")
    page, ground = visitor.page, "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)

    page.keyboard.press("t")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate(ground)
    page.reload()

    assert page.evaluate(ground) == dark != light


def test_a_narrow_window_reaches_every_page(visit: Visit) -> None:
    visitor = visit(width=NARROW)
    visitor.open("/", "Now")

    visitor.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Jobs")
    visitor.page.get_by_role("link", name="New job").click()

    expect(visitor.page).to_have_url(re.compile("/jobs/new$"))


def test_the_stream_is_given_up_while_nobody_looks_and_taken_up_again(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/", "Now")
    state = visitor.page.locator(".node")
    expect(state).to_contain_text("live")

    def look(is_hidden: bool) -> None:  # noqa: FBT001 - it is the browser's own flag
        visitor.page.evaluate(
            "is => { Object.defineProperty(document, 'hidden', {value: is, configurable: true});"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            is_hidden,
        )

    look(is_hidden=True)
    expect(state).to_contain_text("connecting")
    with visitor.page.expect_request(re.compile("/api/v1/stream")):
        look(is_hidden=False)

    expect(state).to_contain_text("live")


def test_without_a_stream_the_pages_ask_by_themselves(visit: Visit) -> None:
    visitor = visit()
    visitor.page.route("**/api/v1/stream*", lambda route: route.abort())
    visitor.open("/jobs", "Jobs")
    expect(visitor.page.locator(".node")).to_contain_text("asks every 5 s")

    # With a stream these figures would be asked for when a job changes, and none does.
    for _ in range(2):
        with visitor.page.expect_response(re.compile("/api/v1/scheduler/metrics")):
            pass

    visitor.wrong[:] = [each for each in visitor.wrong if "ERR_FAILED" not in each]


def test_a_node_that_does_not_answer_is_told_of_and_what_was_there_stays(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")
    visitor.page.route("**/api/v1/**", lambda route: route.abort())

    visitor.page.get_by_label("Type").select_option("cron")

    expect(visitor.page.get_by_role("alert").filter(has_text="does not answer")).to_be_visible()
    expect(visitor.page.locator(".job-name").first).to_be_visible()
    visitor.page.unroute("**/api/v1/**")
    visitor.page.get_by_role("button", name="Try again").click()
    expect(visitor.page.get_by_role("alert")).to_have_count(0)
    visitor.wrong[:] = [each for each in visitor.wrong if "ERR_FAILED" not in each]
