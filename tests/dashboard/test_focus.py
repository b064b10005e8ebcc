from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.dashboard.asking import ask, made
from tests.dashboard.browsing import Visitor, answer_with

Visit = Callable[..., Visitor]


def test_the_focus_goes_to_the_heading_of_a_job_that_is_opened(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?q=Nightly", "Jobs")

    visitor.page.get_by_role("link", name="Nightly backup").press("Enter")

    heading = visitor.page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Nightly backup")
    expect(heading).to_be_focused()


def test_the_focus_stays_in_the_page_through_an_edit(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{made(visitor, 'Oil the hinges')}", "Oil the hinges")
    page = visitor.page
    heading = page.get_by_role("heading", level=1)

    page.get_by_role("button", name="Edit").press("Enter")
    expect(heading).to_have_text("Edit Oil the hinges")
    expect(heading).to_be_focused()
    page.get_by_label("Tags").fill("doors")
    page.get_by_role("button", name="Save changes").press("Enter")

    expect(heading).to_have_text("Oil the hinges")
    expect(heading).to_be_focused()


def test_a_refusal_of_a_run_is_told_within_its_dialog(visit: Visit) -> None:
    visitor = visit()
    job = made(visitor, "Knock twice")
    visitor.open(f"/jobs/{job}?run=1", "Knock twice")
    dialog = visitor.page.get_by_role("dialog", name="Run Knock twice now")
    refusal = {"title": "Conflict", "status": 409, "detail": "it may not run", "code": "CONFLICT"}
    answer_with(visitor.page, "**/trigger", status=409, body=refusal)

    dialog.get_by_role("button", name="Run now").click()

    expect(dialog.get_by_role("alert")).to_contain_text("it may not run")
    visitor.wrong[:] = [each for each in visitor.wrong if "409" not in each]


def test_a_job_that_is_paused_while_it_is_edited_is_changed_all_the_same(visit: Visit) -> None:
    visitor = visit()
    job = made(visitor, "Count the spoons")
    visitor.open(f"/jobs/{job}?edit=1", "Edit Count the spoons")
    page = visitor.page
    page.get_by_label("Tags").fill("kitchen")
    with page.expect_response(re.compile(f"/api/v1/jobs/{job}$")):
        ask(visitor, "POST", f"/jobs/{job}/pause")

    page.get_by_role("button", name="Save changes").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Count the spoons")
    assert ask(visitor, "GET", f"/jobs/{job}")["tags"] == ["kitchen"]


def test_two_clicks_make_one_handler(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/event-handlers/new", "New event handler")
    page = visitor.page
    page.get_by_role("region", name="This event, this filter").get_by_label("Event").fill("clicked.twice")
    page.get_by_label("Handler", exact=True).fill("shop.steady")

    page.get_by_role("button", name="Make the handler").dblclick()

    expect(page.get_by_role("heading", level=1)).to_have_text("on clicked.twice")
    handlers = ask(visitor, "GET", "/event-handlers?limit=100")["items"]
    assert len([each for each in handlers if each["event"] == "clicked.twice"]) == 1


def test_single_keys_can_be_switched_off(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")
    page = visitor.page

    page.get_by_role("button", name="Keys").click()
    page.get_by_role("checkbox", name="Keys do this").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator(".job-name").first).to_be_visible()
    page.keyboard.press("?")
    page.keyboard.press("n")

    expect(page).to_have_url(re.compile("/jobs$"))
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_keys_wait_while_a_menu_is_open(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?q=Nightly", "Jobs")
    page = visitor.page
    page.get_by_role("button", name="Actions for Nightly backup").click()
    expect(page.get_by_role("menuitem", name="Run now")).to_be_focused()

    page.keyboard.press("n")

    expect(page).to_have_url(re.compile("q=Nightly"))
    expect(page.get_by_role("menuitem", name="Run now")).to_be_focused()


def test_an_address_that_is_cut_off_still_shows_a_page(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")

    visitor.page.evaluate("history.pushState(null, '', '/jobs/%zz'); dispatchEvent(new PopStateEvent('popstate'))")

    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Job")
    expect(visitor.page.get_by_role("alert")).to_be_visible()
    visitor.wrong[:] = [each for each in visitor.wrong if not re.search("40[04]|422", each)]
