from __future__ import annotations

import json
import re
from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.dashboard.asking import ask, made
from tests.dashboard.browsing import PATIENCE_MS, Visitor, answer_with

Visit = Callable[..., Visitor]

AWAY = {"title": "Service Unavailable", "status": 503, "detail": "the database is away", "code": "UNAVAILABLE"}


def forgive(visitor: Visitor, text: str) -> None:
    """Let what the browser itself notes of a refusal pass."""
    visitor.wrong[:] = [each for each in visitor.wrong if text not in each]


def test_what_changes_while_a_list_is_on_its_way_is_looked_at_again(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open("/jobs?q=while+it+is+asked", "Jobs")
    expect(page.locator(".node")).to_contain_text("live")
    old = ask(visitor, "GET", "/jobs?name_contains=asked")
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        held.append(route)

    page.route(re.compile("/api/v1/jobs[?].*type=interval"), hold_the_first)
    with page.expect_request(re.compile("/api/v1/jobs[?].*type=interval")):
        page.get_by_label("Type").select_option("interval")
    with page.expect_response(re.compile("/api/v1/scheduler/metrics")):
        made(visitor, "Made while it is asked")
    held[0].fulfill(status=200, body=json.dumps(old), content_type="application/json")

    # A look that took long keeps the next one waiting for four times as long.
    expect(page.get_by_role("link", name="Made while it is asked")).to_be_visible(timeout=4 * PATIENCE_MS)


def test_a_part_behind_the_end_of_a_list_says_so_and_leads_back(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?offset=5000", "Jobs")
    page = visitor.page
    expect(page.get_by_text("The list ends before this part")).to_be_visible()

    page.get_by_role("button", name="Last page").click()

    expect(page.locator(".job-name").first).to_be_visible()


def test_a_node_whose_health_does_not_come_is_not_called_healthy(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")
    state = visitor.page.locator(".node")
    expect(state).to_contain_text("healthy")

    answer_with(visitor.page, "**/scheduler/health", status=503, body=AWAY)

    expect(state).to_contain_text("health unknown")
    forgive(visitor, "503")


def test_outcomes_that_do_not_come_are_not_taken_for_none(visit: Visit) -> None:
    visitor = visit()
    answer_with(visitor.page, "**/jobs/outcomes*", status=503, body=AWAY)
    visitor.page.goto(f"{visitor.url}/jobs?q=stock")

    expect(visitor.page.get_by_role("alert")).to_contain_text("The last outcomes did not come")

    expect(visitor.page.get_by_role("img", name=re.compile("has not run yet"))).to_have_count(0)
    forgive(visitor, "503")


def test_figures_are_named_after_the_period_that_they_are_of(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/", "Now")
    page = visitor.page
    answer_with(page, "**/scheduler/metrics?period=7d", status=503, body=AWAY)

    page.get_by_text("7 days", exact=True).click()

    expect(page.get_by_role("alert").first).to_contain_text("the database is away")
    expect(page.locator(".figures")).to_contain_text("Ran in 24 hours")
    forgive(visitor, "503")


def test_a_click_on_a_bar_shows_the_executions_of_its_time(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/?period=1h", "Now")
    page = visitor.page
    chart = page.get_by_role("region", name="Throughput").locator(".u-over")

    with page.expect_request(re.compile("/api/v1/executions[?].*scheduled_before=")):
        chart.click()

    expect(page).to_have_url(re.compile(r"/executions\?scheduled_after=.*&scheduled_before="))
    page.get_by_role("button", name=re.compile("^Without from ")).click()
    expect(page).to_have_url(re.compile(r"/executions\?scheduled_before="))


def test_what_stands_in_between_and_answers_no_json_is_told_of(visit: Visit) -> None:
    visitor = visit()
    visitor.page.route("**/api/v1/jobs?*", lambda route: route.fulfill(status=200, body="<p>Sign in</p>"))

    visitor.page.goto(f"{visitor.url}/jobs")

    expect(visitor.page.get_by_role("alert").first).to_contain_text("Something in between answered")


def test_a_job_whose_name_does_not_come_leaves_the_list_standing(visit: Visit) -> None:
    visitor = visit()
    answer_with(visitor.page, re.compile(r"/api/v1/jobs/[0-9a-f-]{36}$"), status=503, body=AWAY)

    visitor.open("/executions", "Executions")

    expect(visitor.page.get_by_role("link", name=re.compile("^Job 0")).first).to_be_visible()
    forgive(visitor, "503")


def test_a_name_that_looks_like_markup_is_text(visit: Visit) -> None:
    visitor = visit()
    hostile = '<img src=x onerror="document.title=1">&lt;b&gt;'
    job = made(visitor, hostile, tags=["<i>"])

    visitor.open(f"/jobs/{job}", hostile)

    expect(visitor.page.get_by_role("link", name="<i>")).to_be_visible()
    visitor.open("/jobs?q=onerror", "Jobs")
    expect(visitor.page.get_by_role("link", name=hostile, exact=True)).to_be_visible()
