from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.browsing import THEMES, WIDTHS, Theme, Visitor

Visit = Callable[..., Visitor]


def make(page: Page, name: str, **fields: object) -> None:
    """Make a job for one test alone."""
    body = {"name": name, "type": "interval", "schedule": "every 1h", "handler_name": "shop.steady", **fields}
    made = page.request.post("/api/v1/jobs", data=body)
    assert made.status == 201, made.text()


def names(page: Page) -> list[str]:
    return page.locator(".job-name").all_inner_texts()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_keeps_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    visitor.open("/jobs", "Jobs")
    visitor.page.get_by_role("checkbox", name="Select Nightly backup").check()

    assert visitor.audit() == []
    assert not visitor.is_too_wide()


def test_a_row_tells_how_its_job_has_been_doing(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?q=stock", "Jobs")
    row = visitor.page.get_by_role("row", name=re.compile("Sync stock"))

    expect(row).to_contain_text("every 15m")
    expect(
        row.get_by_role("img", name=re.compile(r"last 50 outcomes of Sync stock.*succeeded.*failed"))
    ).to_be_visible()
    expect(row.get_by_role("img", name=re.compile(r"Durations of Sync stock"))).to_be_visible()


def test_the_next_run_is_told_in_the_zone_of_the_job_and_in_mine(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?q=board", "Jobs")
    row = visitor.page.get_by_role("row", name=re.compile("Sales report"))

    expect(row).to_contain_text(re.compile(r"07:00 Tokyo · .*23:00 here"))
    visitor.page.get_by_role("button", name="Times on my clock; show UTC").click()
    expect(row).to_contain_text(re.compile(r"07:00 Tokyo · .*22:00 here"))


def test_jobs_are_found_by_a_part_of_their_name_and_the_search_stays_in_the_address(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")

    visitor.page.keyboard.press("/")
    visitor.page.keyboard.type("backup")

    expect(visitor.page).to_have_url(re.compile(r"\?q=backup$"))
    expect(visitor.page.locator(".job-name")).to_have_text(["Nightly backup"])
    visitor.page.reload()
    expect(visitor.page.locator(".job-name")).to_have_text(["Nightly backup"])


def test_jobs_are_narrowed_by_status_type_and_tag_and_all_of_it_is_let_go_at_once(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs", "Jobs")
    page = visitor.page
    everything = page.locator(".pager").inner_text()

    page.get_by_role("group", name="Status").get_by_role("button", name="paused").click()
    expect(page.locator(".job-name").first).to_have_text("Warm the cache")
    page.get_by_role("group", name="Status").get_by_role("button", name="paused").click()
    page.get_by_label("Type").select_option("one_time")
    expect(page.locator(".job-name")).to_have_text(["Prices of the winter sale"])
    page.get_by_label("Type").select_option("")
    page.get_by_label("Filter by tag").fill("night")
    page.get_by_label("Filter by tag").press("Enter")
    expect(page.locator(".job-name")).to_have_text(["Nightly backup"])
    page.get_by_role("button", name="Without tag night").click()
    page.get_by_role("link", name="warehouse", exact=True).click()
    expect(page.locator(".job-name")).to_have_text(["Sync stock with the warehouse"])
    page.get_by_role("button", name="Clear filters").click()

    expect(page.locator(".pager")).to_have_text(everything)


def test_jobs_are_sorted_by_the_head_of_a_column(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?tag=money", "Jobs")
    page = visitor.page

    page.get_by_role("columnheader", name="Job").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="Job")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator(".job-name").first).to_have_text("Charge cards of subscribers")
    upwards = names(page)
    page.get_by_role("columnheader", name="Job").get_by_role("button").click()

    expect(page.locator(".job-name").last).to_have_text("Charge cards of subscribers")
    assert names(page) == upwards[::-1]


def test_a_job_is_paused_resumed_run_and_cancelled_from_its_row(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    make(page, "Water the plants")
    visitor.open("/jobs?q=plants", "Jobs")
    row = page.get_by_role("row", name=re.compile("Water the plants"))

    def choose(action: str) -> None:
        row.get_by_role("button", name="Actions for Water the plants").click()
        page.get_by_role("menuitem", name=action).click()

    choose("Pause")
    expect(row.locator(".job-notes")).to_contain_text("paused")
    choose("Resume")
    expect(row.locator(".job-notes")).to_contain_text("active")
    choose("Run now")
    expect(row.get_by_role("img", name=re.compile("1 succeeded"))).to_be_visible()
    choose("Cancel for good")
    page.get_by_role("button", name="Cancel the job").click()
    expect(row.locator(".job-notes")).to_contain_text("cancelled")


def test_many_jobs_are_changed_after_a_preview_that_changes_nothing(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    for number in range(3):
        make(page, f"Count shelf {number}", enabled=number > 0)
    visitor.open("/jobs?q=shelf", "Jobs")
    notes = page.locator(".job-notes")

    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("region", name="Jobs that are picked").get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".told")).to_contain_text("would change2")
    expect(dialog.locator(".told")).to_contain_text("are so already1")
    expect(dialog.locator(".told-jobs li")).to_have_count(2)
    assert visitor.audit() == []
    dialog.get_by_role("button", name="Leave them").click()
    expect(notes.filter(has_text="active")).to_have_count(2)
    page.get_by_role("region", name="Jobs that are picked").get_by_role("button", name="Pause").click()
    dialog.get_by_role("button", name="Pause 2 jobs").click()

    expect(notes.filter(has_text="paused")).to_have_count(3)
    expect(page.get_by_role("region", name="Jobs that are picked")).to_have_count(0)


@pytest.mark.parametrize(
    ("action", "button", "seen"),
    [("Resume", "Resume 2 jobs", "active"), ("Run", "Run 2 jobs", "paused"), ("Cancel", "Cancel 2 jobs", "cancelled")],
)
def test_many_jobs_are_resumed_run_and_cancelled(visit: Visit, action: str, button: str, seen: str) -> None:
    visitor = visit()
    page = visitor.page
    for number in range(2):
        make(page, f"{action} crate {number}", enabled=False)
    visitor.open(f"/jobs?q={action}+crate", "Jobs")

    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("region", name="Jobs that are picked").get_by_role("button", name=action, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=button).click()

    expect(page.get_by_role("status").filter(has_text="2 jobs")).to_be_visible()
    expect(page.locator(".job-notes").filter(has_text=seen)).to_have_count(2)
    jobs = page.request.get(f"/api/v1/jobs?name_contains={action}+crate").json()["items"]
    ran = [page.request.get(f"/api/v1/jobs/{job['id']}/executions").json()["total"] for job in jobs]
    assert ran == ([1, 1] if action == "Run" else [0, 0])


def test_all_jobs_that_match_are_picked_beyond_the_page(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    for number in range(55):
        make(page, f"Label parcel {number:02}", enabled=False)
    visitor.open("/jobs?q=parcel&sort=name", "Jobs")
    expect(page.locator(".pager")).to_contain_text(re.compile("1.50 of 55 jobs"))

    page.get_by_role("button", name="Next page").click()
    expect(page.locator(".job-name").first).to_have_text("Label parcel 50")
    page.go_back()
    expect(page.locator(".job-name").first).to_have_text("Label parcel 00")
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Pick all 55 that match").click()
    page.get_by_role("region", name="Jobs that are picked").get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 55 jobs").click()

    expect(page.get_by_role("status").filter(has_text="55 jobs cancelled")).to_be_visible()


def test_a_strip_leads_to_the_execution_under_the_pointer(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?q=stock", "Jobs")
    strip = visitor.page.locator(".strip").first

    strip.hover(position={"x": 150, "y": 16})
    expect(visitor.page.locator(".tip")).to_contain_text(re.compile("succeeded|failed"))
    strip.click(position={"x": 150, "y": 16})

    expect(visitor.page).to_have_url(re.compile(r"/executions/[0-9a-f-]{36}$"))


def test_rows_are_gone_through_and_picked_by_keys(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?sort=name&tag=money", "Jobs")
    page = visitor.page

    for key in "jjkx":
        page.keyboard.press(key)
    expect(page.get_by_role("checkbox", name="Select Charge cards of subscribers")).to_be_checked()
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))


def test_a_search_that_finds_nothing_offers_a_way_back(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs?q=nothing+like+it", "Jobs")

    expect(visitor.page.get_by_text("No job matches")).to_be_visible()
    assert visitor.audit() == []
    visitor.page.get_by_role("link", name="Show all jobs").click()

    expect(visitor.page.locator(".job-name").first).to_be_visible()


def test_a_node_without_jobs_leads_to_the_first(visit: Visit, empty: str) -> None:
    visitor = visit(empty)
    visitor.open("/jobs", "Jobs")

    expect(visitor.page.get_by_text("There are no jobs yet")).to_be_visible()
    assert visitor.audit() == []
