from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.browsing import THEMES, WIDTHS, Theme, Visitor
from tests.dashboard.orders import trade
from tests.dashboard.test_events import listening, refused, send

Visit = Callable[..., Visitor]

ACTIONS = (
    ("call", {"Handler": "shop.steady", "Payload": '{"order": "{{ event.data.id }}"}'}, "call shop.steady"),
    ("create_job", {"Name of the job": "Later", "Handler": "shop.steady", "Delay": "48h"}, "make the job Later"),
    ("cancel_jobs", {"Key": "later", "Tags": "a, b"}, "with the key later and tagged a, b"),
    ("publish", {"Name of the event": "warehouse.pick", "Data": '{"a": 1}'}, "publish warehouse.pick"),
)


def fill(page: Page, fields: dict[str, str]) -> None:
    for label, value in fields.items():
        page.get_by_role("region", name="This action").get_by_label(label, exact=True).fill(value)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_pages_of_handlers_keep_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    trade(visitor.page.request)
    visitor.open("/event-handlers", "Event handlers")
    expect(visitor.page.get_by_role("table", name="Event handlers")).to_contain_text("order.refunded")
    assert (visitor.audit(), visitor.is_too_wide()) == ([], False)

    visitor.page.get_by_role("link", name="Look at large orders").click()
    expect(visitor.page.get_by_role("region", name="What it does")).to_be_visible()
    visitor.settle()
    assert (visitor.audit(), visitor.is_too_wide()) == ([], False)

    visitor.page.get_by_role("button", name="Replay").click()
    expect(visitor.page.get_by_text("would be acted upon")).to_be_visible()
    assert (visitor.audit(), visitor.is_too_wide()) == ([], False)

    visitor.open("/event-handlers/new", "New event handler")
    visitor.page.get_by_role("region", name="This event, this filter").get_by_label("Event").fill("order.*")
    expect(visitor.page.get_by_role("status").filter(has_text="It would act")).to_be_visible()
    assert (visitor.audit(), visitor.is_too_wide()) == ([], False)


def test_a_filter_is_tried_as_one_types(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/event-handlers/new", "New event handler")
    page = visitor.page
    tester = page.get_by_role("region", name="Try it on a sample")
    verdict = tester.get_by_role("status")
    rule = page.get_by_role("region", name="This event, this filter")

    rule.get_by_label("Event").fill("order.*")
    tester.get_by_label("Data of the sample").fill('{"total": 150}')
    rule.get_by_label("Filter").fill("event.data.total > 100")
    expect(verdict).to_contain_text("It would act")
    rule.get_by_label("Filter").fill("event.data.total > 200")
    expect(verdict).to_contain_text("It would leave this alone")
    rule.get_by_label("Filter").fill("event.data.total >")
    expect(verdict).to_contain_text("must be CEL")
    rule.get_by_label("Filter").fill("event.data.total")
    expect(verdict).to_contain_text("neither true nor false: it comes to 150")
    rule.get_by_label("Filter").fill("event.data.sum > 1")
    expect(verdict).to_contain_text("there is no field sum")
    tester.get_by_label("Data of the sample").fill('{"sum": 2}')
    expect(verdict).to_contain_text("It would act")
    tester.get_by_label("Name of the sample").fill("invoice.sent")
    expect(verdict).to_contain_text("order.* does not match invoice.sent")
    tester.get_by_label("Data of the sample").fill("{")
    expect(verdict).to_contain_text("no JSON yet")


def test_a_filter_is_tried_on_an_event_that_was_there(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    event = send(page, "sampled.once", data={"total": 7})
    visitor.open(f"/events/{event['event_id']}", "sampled.once")

    page.get_by_role("link", name="New handler for it").click()
    expect(page.get_by_label("Data of the sample")).to_have_value(re.compile('"total": 7'))
    page.get_by_role("region", name="This event, this filter").get_by_label("Filter").fill("event.data.total == 7")
    expect(page.get_by_role("status").filter(has_text="It would act")).to_be_visible()

    send(page, "sampled.twice", data={"total": 8})
    page.reload()
    page.get_by_role("region", name="This event, this filter").get_by_label("Filter").fill("event.data.total == 8")
    newest = page.locator("option", has_text="sampled.twice").get_attribute("value")
    page.get_by_label("Take an event").select_option(newest)
    page.get_by_role("region", name="This event, this filter").get_by_label("Event").fill("sampled.*")
    expect(page.get_by_role("status").filter(has_text="It would act")).to_be_visible()


@pytest.mark.parametrize(("kind", "fields", "words"), ACTIONS)
def test_a_handler_is_made_of_fields(visit: Visit, kind: str, fields: dict[str, str], words: str) -> None:
    visitor = visit()
    visitor.open("/event-handlers/new", "New event handler")
    page = visitor.page

    page.get_by_role("region", name="This event, this filter").get_by_label("Event").fill(f"fields.{kind}")
    page.get_by_label("Action", exact=True).select_option(kind)
    fill(page, fields)
    page.get_by_role("region", name="How", exact=True).get_by_label("Name").fill(f"Made of fields: {kind}")
    page.get_by_role("button", name="Make the handler").click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Made of fields: {kind}")
    expect(page.get_by_role("region", name="What it does")).to_contain_text(words)


def test_a_handler_that_runs_a_job_finds_it_by_name(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/event-handlers/new", "New event handler")
    page = visitor.page

    page.get_by_role("region", name="This event, this filter").get_by_label("Event").fill("backup.wanted")
    page.get_by_label("Action", exact=True).select_option("run_job")
    page.get_by_label("Search jobs by name").fill("Nightly")
    page.get_by_role("combobox", name="Job").select_option(label="Nightly backup")
    page.get_by_role("button", name="Make the handler").click()

    expect(page.get_by_role("region", name="What it does")).to_contain_text("run Nightly backup")


def test_a_handler_is_made_of_json_and_refused_in_words(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/event-handlers/new", "New event handler")
    page = visitor.page
    action = page.get_by_role("region", name="This action")

    page.get_by_role("region", name="This event, this filter").get_by_label("Event").fill("json.made")
    page.get_by_text("JSON", exact=True).click()
    action.get_by_label("Action", exact=True).fill('{"type": "explode"}')
    expect(action.locator(".field-error")).to_contain_text("must be one of")
    expect(page.get_by_role("button", name="Make the handler")).to_be_disabled()
    action.get_by_label("Action", exact=True).fill('{"type": "publish", "name": "tocsin.job.created"}')
    page.get_by_role("button", name="Make the handler").click()
    expect(page.get_by_role("alert")).to_contain_text("action.name")
    action.get_by_label("Action", exact=True).fill('{"type": "publish", "name": "json.done"}')
    page.get_by_role("button", name="Make the handler").click()

    expect(page.get_by_role("region", name="What it does")).to_contain_text("publish json.done")
    refused(visitor, "422")


def test_a_handler_is_changed_and_what_somebody_else_changed_is_not_lost(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    made = listening(page, "edited.*", name="To be edited", flow={"dedupe_seconds": 60})
    visitor.open(f"/event-handlers/{made['id']}", "To be edited")

    page.keyboard.press("e")
    page.get_by_role("textbox", name="Filter").fill("event.data.total > 1")
    page.get_by_label("Mode", exact=True).select_option("sync")
    page.get_by_role("button", name="Save changes").click()
    what = page.get_by_role("region", name="What it does")
    expect(what).to_contain_text("event.data.total > 1")
    expect(what).to_contain_text("What repeats within 1 m is left out")
    expect(what).to_contain_text("waits for it")

    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Filter").fill("event.data.total > 2")
    address = f"/api/v1/event-handlers/{made['id']}"
    assert page.request.patch(address, data={"priority": 99}).ok
    # The form goes on from what it was opened with, whatever the page has learnt meanwhile.
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody else changed it")
    kept = page.request.get(address).json()
    assert (kept["priority"], kept["filter"]) == (99, "event.data.total > 1")
    refused(visitor, "409")
    refused(visitor, "412")


def test_a_handler_is_disabled_and_enabled(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    made = listening(page, "toggled", name="To be toggled")
    visitor.open(f"/event-handlers/{made['id']}", "To be toggled")

    page.get_by_role("button", name="Disable").click()
    expect(page.locator(".badge")).to_have_text("disabled")
    assert send(page, "toggled")["matched"] == 0
    visitor.open("/event-handlers?enabled=false", "Event handlers")
    page.get_by_role("button", name="Actions for To be toggled").click()
    page.get_by_role("menuitem", name="Enable").click()

    expect(page.get_by_role("link", name="To be toggled")).to_have_count(0)
    assert send(page, "toggled")["matched"] == 1


def test_counters_and_the_last_events_are_told(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    made = listening(page, "counted.*", name="To be counted", filter="event.data.total > 1")
    send(page, "counted.one", data={"total": 1})
    send(page, "counted.two", data={"total": 2})
    visitor.open(f"/event-handlers/{made['id']}", "To be counted")

    expect(page.locator(".figure", has_text="Asked").first.locator(".stat-value")).to_have_text("2")
    expect(page.locator(".figure", has_text="Acted").locator(".stat-value")).to_have_text("1")
    rows = page.get_by_role("table", name="Events it was asked about").get_by_role("row")
    expect(rows.filter(has_text="counted.one")).to_contain_text("filtered")
    expect(rows.filter(has_text="counted.two")).to_contain_text("acted")


def test_past_events_are_replayed_once_it_is_told_what_would_come_of_it(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    for total in (1, 2, 3):
        send(page, "replayed.order", data={"total": total})
    made = listening(page, "replayed.*", name="To be replayed", filter="event.data.total > 1")
    visitor.open(f"/event-handlers/{made['id']}", "To be replayed")

    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".told > div", has_text="would be acted upon")).to_contain_text("2")
    expect(page.locator(".told > div", has_text="filtered out")).to_contain_text("1")
    page.get_by_text("7 days", exact=True).click()
    page.get_by_role("button", name="Act upon 2 events").click()
    expect(page.get_by_role("status").filter(has_text="acted upon 2 events")).to_be_visible()
    page.get_by_role("button", name="Replay").click()

    expect(page.locator(".told > div", has_text="acted upon already")).to_contain_text("2")
    expect(page.get_by_role("button", name="Act upon 0 events")).to_be_disabled()


def test_a_handler_is_deleted_once_that_is_confirmed(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    made = listening(page, "deleted", name="To be deleted")
    visitor.open(f"/event-handlers/{made['id']}", "To be deleted")

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Delete the handler").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Event handlers")
    expect(page.get_by_role("link", name="To be deleted")).to_have_count(0)
    refused(visitor, "404")


def test_a_node_without_handlers_says_how_to_begin(visit: Visit, empty: str) -> None:
    visitor = visit(empty)
    visitor.open("/event-handlers", "Event handlers")

    expect(visitor.page.get_by_text("There are no event handlers yet")).to_be_visible()
    assert visitor.audit() == []


def test_a_handler_that_is_gone_says_so(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/event-handlers/01a20151-0000-7000-8000-000000000000", "Event handler")

    expect(visitor.page.get_by_role("alert")).to_contain_text("It may have been deleted")
    refused(visitor, "404")
