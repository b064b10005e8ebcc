from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.dashboard.browsing import THEMES, WIDTHS, Theme, Visitor, answer_with

Visit = Callable[..., Visitor]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_keeps_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    visitor.open("/", "Now")
    expect(visitor.page.locator(".chart canvas")).to_have_count(2)

    assert visitor.audit() == []
    assert not visitor.is_too_wide()


def test_it_tells_what_runs_what_is_due_and_what_failed(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/", "Now")
    page = visitor.page

    expect(page.get_by_role("table", name="Running executions")).to_contain_text("Move customer photos")
    expect(page.get_by_role("region", name="Next hour").locator(".lane").first).to_be_visible()
    expect(page.get_by_role("img", name=re.compile(r"fires in the next hour"))).to_be_visible()
    expect(page.get_by_role("table", name="Executions that failed last")).to_contain_text("refused the connection")
    expect(page.get_by_role("region", name="Health")).to_contain_text("healthy")
    expect(page.get_by_role("region", name="Nodes")).to_contain_text("till-1")


def test_figures_and_charts_are_of_the_period_that_is_chosen_and_it_stays_in_the_address(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/", "Now")
    expect(visitor.page.locator(".figures")).to_contain_text("Ran in 24 hours")

    visitor.page.get_by_text("7 days", exact=True).click()

    expect(visitor.page.locator(".figures")).to_contain_text("Ran in 7 days")
    expect(visitor.page).to_have_url(re.compile(r"\?period=7d$"))
    visitor.page.reload()
    expect(visitor.page.get_by_role("radio", name="7 days")).to_be_checked()


def test_what_begins_shows_by_itself(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/", "Now")
    ran = visitor.page.locator(".figure", has_text="Ran in").locator(".stat-value")
    expect(ran).to_have_text(re.compile("[0-9]"))
    before = ran.inner_text()

    # A job runs every ten seconds; nothing is clicked.
    expect(ran).not_to_have_text(before)
    expect(visitor.page.locator(".node")).to_contain_text("live")


def test_a_failure_is_retried(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/", "Now")

    visitor.page.get_by_role("button", name="Retry Sync stock with the warehouse").first.click()

    expect(visitor.page.get_by_role("status").filter(has_text="runs again")).to_be_visible()


def test_an_execution_is_cancelled_once_that_is_confirmed(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?q=photos", "Jobs")
    page = visitor.page
    page.get_by_role("button", name="Actions for Move customer photos to the new store").click()
    page.get_by_role("menuitem", name="Run now").click()
    expect(page.get_by_role("status").filter(has_text="runs now")).to_be_visible()
    visitor.open("/", "Now")
    running = page.get_by_role("table", name="Running executions")

    running.get_by_role("button", name="Cancel Move customer photos").first.click()
    page.get_by_role("button", name="Let it run").click()
    expect(running).to_contain_text("Move customer photos")
    running.get_by_role("button", name="Cancel Move customer photos").first.click()
    page.get_by_role("button", name="Cancel execution").click()

    expect(page.get_by_role("status").filter(has_text="Cancelled Move customer photos")).to_be_visible()


def test_a_node_is_drained_and_takes_work_again(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/", "Now")
    page, nodes = visitor.page, visitor.page.get_by_role("region", name="Nodes")

    nodes.get_by_role("button", name="Actions for till-1").click()
    page.get_by_role("menuitem", name="Drain").click()
    page.get_by_role("button", name="Drain").click()
    expect(nodes).to_contain_text(re.compile("drain(ing|ed)|about to drain"))
    nodes.get_by_role("button", name="Actions for till-1").click()
    page.get_by_role("menuitem", name="Take work again").click()

    expect(nodes.locator("li").first).to_contain_text("live")


def test_a_node_without_jobs_says_how_to_begin(visit: Visit, empty: str) -> None:
    visitor = visit(empty)
    visitor.open("/", "Now")

    expect(visitor.page.get_by_text("Nothing fires within the hour")).to_be_visible()
    expect(visitor.page.get_by_text("Nothing has failed")).to_be_visible()
    assert visitor.audit() == []


def test_what_ails_the_node_is_told_with_reasons(visit: Visit) -> None:
    visitor = visit()
    ill = {"status": "degraded", "detail": "3 loops are late"}
    health = {
        "status": "degraded",
        "components": {"timer": ill},
        "issues": ["timer: 3 loops are late"],
        "uptime_seconds": 9,
    }
    answer_with(visitor.page, "**/scheduler/health", status=200, body=health)

    visitor.open("/", "Now")

    expect(visitor.page.get_by_role("region", name="Health")).to_contain_text("3 loops are late")
    assert visitor.audit() == []


def test_a_refusal_is_shown_in_its_own_words_and_tried_again_when_asked(visit: Visit) -> None:
    visitor = visit()
    problem = {"title": "Service Unavailable", "status": 503, "detail": "the database is away", "code": "UNAVAILABLE"}
    answer_with(visitor.page, "**/jobs/upcoming*", status=503, body=problem)
    visitor.open("/", "Now")
    card = visitor.page.get_by_role("region", name="Next hour")
    expect(card.get_by_role("alert")).to_contain_text("the database is away")

    visitor.page.unroute("**/jobs/upcoming*")
    card.get_by_role("button", name="Try again").click()

    expect(card.locator(".lane").first).to_be_visible()
    # The browser notes each answer that is a refusal.
    visitor.wrong[:] = [each for each in visitor.wrong if "503" not in each]
