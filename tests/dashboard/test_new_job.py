from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.asking import ask
from tests.dashboard.browsing import THEMES, WIDTHS, Theme, Visitor

Visit = Callable[..., Visitor]


def kind(page: Page, name: str) -> None:
    page.get_by_role("radiogroup", name="When it fires").get_by_text(name, exact=True).click()


def make(visitor: Visitor, name: str) -> dict[str, object]:
    """Send the form, which must lead to the page of the new job; answers the job."""
    visitor.page.get_by_role("button", name="Make the job").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text(name)
    job: dict[str, object] = ask(visitor, "GET", visitor.page.url.removeprefix(visitor.url))
    return job


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_keeps_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    expect(page.get_by_text("every 15 minutes")).to_be_visible()

    kind(page, "Weekly")
    assert visitor.audit() == []
    for name in ("Once", "Cron", "On demand"):
        kind(page, name)
        assert not visitor.is_too_wide(), name


@pytest.mark.parametrize("name", ["Once", "On demand"])
def test_no_kind_of_schedule_keeps_anybody_out(visit: Visit, name: str) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")

    kind(visitor.page, name)

    assert visitor.audit() == []


def test_the_schedule_is_told_in_words_and_its_next_ten_fires_as_it_is_typed(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    fires = page.get_by_role("list", name="Next fires").get_by_role("listitem")

    page.get_by_label("Every", exact=True).fill("3")
    page.get_by_label("Unit").select_option("hours")
    expect(page.get_by_text("every 3 hours")).to_be_visible()
    expect(fires).to_have_count(10)
    kind(page, "Weekly")
    page.get_by_role("button", name="Fri").click()
    page.get_by_label("At", exact=True).fill("07:45")

    expect(page.locator(".fires-words")).to_contain_text("Monday and Friday")
    expect(fires.first).to_contain_text("07:45:00")


def test_a_cron_that_cannot_be_is_refused_at_its_field_as_it_is_typed(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    kind(page, "Cron")
    expression = page.get_by_label("Cron", exact=True).and_(page.get_by_role("textbox"))

    expression.fill("61 * * * *")
    expect(expression).to_have_attribute("aria-invalid", "true")
    assert visitor.audit() == []
    expression.fill("*/10 8-18 * * 1-5")

    expect(expression).not_to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("list", name="Next fires").get_by_role("listitem")).to_have_count(10)
    visitor.wrong[:] = [each for each in visitor.wrong if "422" not in each]


def test_what_is_wrong_is_said_at_its_field(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page

    page.get_by_role("button", name="Make the job").click()
    address = page.get_by_label("Address")
    expect(page.locator("[aria-invalid=true]")).not_to_have_count(0)
    page.get_by_label("Name").fill("Look at the shop")
    address.fill("ftp://shop.example")
    page.get_by_role("button", name="Make the job").click()

    expect(address).to_have_attribute("aria-invalid", "true")
    expect(address).to_be_focused()
    expect(page.locator(".field-error")).to_contain_text("must start with http")
    assert visitor.audit() == []
    visitor.wrong[:] = [each for each in visitor.wrong if "422" not in each]


def test_a_call_is_made_with_its_headers_and_body(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    page.get_by_label("Name").fill("Tell the warehouse")
    page.get_by_label("Method").select_option("POST")
    page.get_by_label("Address").fill("http://127.0.0.1:9/told")
    page.get_by_label("Headers").fill("X-Shop: corner\nAccept: text/plain")
    page.get_by_role("textbox", name="Body").fill('{"open": true}')
    page.get_by_text("Start it paused").click()

    job = make(visitor, "Tell the warehouse")

    assert (job["type"], job["schedule"], job["status"]) == ("interval", "every 15m", "paused")
    assert job["payload"] == {
        "method": "POST",
        "url": "http://127.0.0.1:9/told",
        "headers": {"X-Shop": "corner", "Accept": "text/plain"},
        "body": {"open": True},
    }


def test_a_function_is_made_to_run_daily_in_a_zone(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    page.get_by_label("Name").fill("Close the till")
    page.get_by_label("Tags").fill("money, evening")
    kind(page, "Daily")
    page.get_by_label("At", exact=True).fill("20:15")
    page.get_by_label("Time zone").fill("America/New_York")
    page.get_by_text("Function", exact=True).click()
    page.get_by_label("Function").and_(page.get_by_role("combobox")).fill("shop.steady")
    page.get_by_label("Payload").fill('{"till": 1}')

    job = make(visitor, "Close the till")

    assert (job["type"], job["schedule"], job["timezone"]) == ("cron", "15 20 * * *", "America/New_York")
    assert (job["handler_name"], job["payload"], job["tags"]) == ("shop.steady", {"till": 1}, ["money", "evening"])


def test_once_is_an_instant_on_the_clock_of_its_zone(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    page.get_by_label("Name").fill("Open the new shop")
    kind(page, "Once")
    page.get_by_label("At", exact=True).fill("2099-07-01T09:00")
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    page.get_by_text("Function", exact=True).click()
    page.get_by_label("Function").and_(page.get_by_role("combobox")).fill("shop.steady")

    job = make(visitor, "Open the new shop")

    assert (job["type"], job["execute_at"]) == ("one_time", "2099-07-01T07:00:00Z")


def test_a_command_is_refused_where_the_node_allows_none(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    page.get_by_label("Name").fill("Dump the database")
    kind(page, "On demand")
    page.get_by_text("Command", exact=True).click()
    page.get_by_label("Line for /bin/sh").fill("pg_dump shop > /backup/shop.sql")

    page.get_by_role("button", name="Make the job").click()

    expect(page.locator(".field-error")).to_contain_text("TOCSIN_ALLOW_COMMANDS")
    visitor.wrong[:] = [each for each in visitor.wrong if "422" not in each]


def test_a_payload_that_is_no_json_is_not_even_sent(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    page.get_by_label("Name").fill("Think twice")
    page.get_by_text("Function", exact=True).click()
    page.get_by_label("Payload").fill("{nothing")

    page.get_by_role("button", name="Make the job").click()

    expect(page.locator(".field-error")).to_contain_text("This is not JSON")
    expect(page).to_have_url(re.compile("/jobs/new$"))
