from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.dashboard.asking import ask, job_called, made
from tests.dashboard.browsing import THEMES, WIDTHS, Theme, Visitor

Visit = Callable[..., Visitor]

STOCK = "Sync stock with the warehouse"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_keeps_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    visitor.open(f"/jobs/{job_called(visitor, 'stock')}", STOCK)
    expect(visitor.page.locator(".chart canvas")).to_be_visible()

    assert visitor.audit() == []
    assert not visitor.is_too_wide()


def test_it_tells_what_the_job_does_and_how_it_has_been_doing(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{job_called(visitor, 'stock')}", STOCK)
    page = visitor.page

    expect(page.get_by_role("region", name="What it does")).to_contain_text("every 15 minutes")
    expect(page.locator("td.is-today")).to_contain_text(re.compile(r"\d+ to come, first \d\d:\d\d"))
    expect(page.get_by_role("img", name=re.compile("How long the last .* runs took"))).to_be_visible()
    expect(page.get_by_role("region", name="How it fails")).to_contain_text("ConnectionError")
    expect(page.get_by_role("list", name="Next fires").get_by_role("listitem")).to_have_count(8)
    expect(page.get_by_role("table", name="Executions of this job")).to_contain_text("succeeded")


def test_the_calendar_is_leafed_through_and_its_month_stays_in_the_address(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{job_called(visitor, 'backup')}", "Nightly backup")
    page = visitor.page
    calendar = page.get_by_role("region", name="Calendar")
    expect(calendar).to_contain_text("Europe/Berlin")

    calendar.get_by_role("button", name="The month after").click()
    expect(page).to_have_url(re.compile(r"month=\d{4}-\d\d$"))
    expect(calendar.locator("td", has_text="1 to come").first).to_contain_text("02:30")
    calendar.get_by_role("button", name="The month before").click()

    expect(page).not_to_have_url(re.compile("month="))


def test_the_history_is_narrowed_and_leafed_through(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{job_called(visitor, 'stock')}", STOCK)
    page = visitor.page
    history = page.get_by_role("region", name="History")

    history.get_by_role("button", name="Next page").click()
    expect(history.get_by_text(re.compile("^21.40 of"))).to_be_visible()
    history.get_by_label("Status of executions").select_option("failed")

    expect(page).to_have_url(re.compile(r"\?status=failed$"))
    expect(history.locator("tbody .cell-status").first).to_have_text("failed")


def test_a_job_is_edited_with_its_fires_before_and_after_and_the_change_is_told(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{made(visitor, 'Water the plants')}", "Water the plants")
    page = visitor.page

    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Every", exact=True).fill("8")
    expect(page.get_by_text("every 8 hours")).to_be_visible()
    fires = page.get_by_role("list", name="Fires before and after")
    expect(fires.locator(".is-new").first).to_be_visible()
    expect(fires.locator(".is-goes").first).to_be_visible()
    assert visitor.audit() == []
    page.get_by_label("Tags").fill("garden")
    page.get_by_role("button", name="Save changes").click()

    changes = page.get_by_role("region", name="Changes")
    expect(changes.locator("ins")).to_have_text(["is now every 8h", "is now garden"])
    expect(changes.locator("del").first).to_have_text("was every 6h")


def test_what_another_has_changed_meanwhile_is_not_overwritten(visit: Visit) -> None:
    visitor = visit()
    job = made(visitor, "Wind the clock")
    visitor.open(f"/jobs/{job}?edit=1", "Edit Wind the clock")
    page = visitor.page
    ask(visitor, "PATCH", f"/jobs/{job}", {"description": "Clockwise."})
    expect(page.get_by_role("alert")).to_contain_text("Somebody changed this job")

    page.get_by_label("Tags").fill("hall")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("Not changed")).to_be_visible()
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_label("What it is for")).to_have_value("Clockwise.")
    assert ask(visitor, "GET", f"/jobs/{job}")["tags"] == []
    visitor.wrong[:] = [each for each in visitor.wrong if "412" not in each and "409" not in each]


def test_a_job_is_paused_and_resumed(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{made(visitor, 'Feed the cat')}", "Feed the cat")
    page, badge = visitor.page, visitor.page.locator(".page-title .badge")

    page.get_by_role("button", name="Pause").click()
    expect(badge).to_have_text("paused")
    page.get_by_role("button", name="Resume").click()

    expect(badge).to_have_text("active")


def test_a_job_is_cancelled_for_good_once_that_is_confirmed(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{made(visitor, 'Ring the bell')}", "Ring the bell")
    page = visitor.page

    page.get_by_role("button", name="More actions for Ring the bell").click()
    page.get_by_role("menuitem", name="Cancel for good").click()
    page.get_by_role("button", name="Cancel the job").click()

    expect(page.locator(".page-title .badge")).to_have_text("cancelled")
    expect(page.get_by_role("button", name="Run now")).to_be_disabled()


def test_a_job_is_deleted_once_that_is_confirmed(visit: Visit) -> None:
    visitor = visit()
    job = made(visitor, "Sweep the yard")
    visitor.open(f"/jobs/{job}", "Sweep the yard")
    page = visitor.page

    page.get_by_role("button", name="More actions for Sweep the yard").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="More actions for Sweep the yard").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete the job").click()

    expect(page).to_have_url(re.compile("/jobs$"))
    assert page.request.get(f"/api/v1/jobs/{job}").status == 404
    visitor.wrong[:] = [each for each in visitor.wrong if "404" not in each]


def test_a_job_is_run_now_with_a_payload_of_this_run(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{made(visitor, 'Count the stock', payload={'hall': 1})}", "Count the stock")
    page = visitor.page

    page.get_by_role("button", name="Run now").click()
    payload = page.get_by_role("dialog").get_by_label("Payload of this run")
    payload.fill("{hall: 2}")
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    expect(page.get_by_text("This is not JSON")).to_be_visible()
    assert visitor.audit() == []
    payload.fill('{"hall": 2}')
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Execution of Count the stock")
    expect(page.get_by_role("region", name="Payload").first).to_contain_text('"hall": 2')
    expect(page.get_by_role("region", name="Result").first).to_contain_text('"orders"')
    assert visitor.audit() == []


def test_event_handlers_that_run_it_are_named(visit: Visit) -> None:
    visitor = visit()
    job = made(visitor, "Wrap the parcel")
    handler = {"name": "Parcels", "event": "parcel.packed", "action": {"type": "run_job", "job_id": job}}
    ask(visitor, "POST", "/event-handlers", handler)

    visitor.open(f"/jobs/{job}", "Wrap the parcel")

    handlers = visitor.page.get_by_role("region", name="Event handlers")
    expect(handlers).to_contain_text("runs it on parcel.packed")
    expect(handlers.get_by_role("link", name="Parcels")).to_be_visible()


def test_keys_lead_to_editing_and_running(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/jobs/{made(visitor, 'Turn the page')}", "Turn the page")

    visitor.page.keyboard.press("r")
    expect(visitor.page.get_by_role("dialog", name="Run Turn the page now")).to_be_visible()
    visitor.page.keyboard.press("Escape")
    visitor.page.keyboard.press("e")

    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Edit Turn the page")


def test_a_job_that_is_not_there_is_said_to_be_gone(visit: Visit) -> None:
    visitor = visit()

    visitor.open("/jobs/01890000-0000-7000-8000-000000000000", "Job")

    expect(visitor.page.get_by_role("alert")).to_contain_text("It may have been deleted")
    assert visitor.audit() == []
    visitor.wrong[:] = [each for each in visitor.wrong if "404" not in each]
