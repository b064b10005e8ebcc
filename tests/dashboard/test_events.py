from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.browsing import THEMES, WIDTHS, Theme, Visitor, answer_with
from tests.dashboard.orders import trade

Visit = Callable[..., Visitor]


def send(page: Page, name: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
    """Publish an event for one test alone."""
    sent = page.request.post("/api/v1/events", data={"name": name, **fields})
    assert sent.ok, sent.text()
    return sent.json()


def listening(page: Page, event: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
    """Make a handler for one test alone."""
    body = {"event": event, "action": {"type": "call", "handler_name": "shop.steady"}, **fields}
    made = page.request.post("/api/v1/event-handlers", data=body)
    assert made.ok, made.text()
    return made.json()


def refused(visitor: Visitor, status: str) -> None:
    """Let pass that the browser notes each answer that is a refusal."""
    visitor.wrong[:] = [each for each in visitor.wrong if status not in each]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_pages_of_events_keep_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    trade(visitor.page.request)
    visitor.open("/events", "Events")
    expect(visitor.page.get_by_role("table", name="Events")).to_contain_text("order.paid")
    assert (visitor.audit(), visitor.is_too_wide()) == ([], False)

    visitor.page.get_by_role("button", name="Send an event").click()
    assert (visitor.audit(), visitor.is_too_wide()) == ([], False)

    visitor.open("/events?source=bank", "Events")
    visitor.page.get_by_role("link", name="order.paid").first.click()
    expect(visitor.page.get_by_role("table", name="What handlers made of it")).to_be_visible()
    assert (visitor.audit(), visitor.is_too_wide()) == ([], False)


def test_events_are_found_by_how_their_name_begins_and_by_what_handlers_made_of_them(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    listening(page, "found.heard")
    for name in ("found.heard", "found.unheard"):
        send(page, name)
    visitor.open("/events", "Events")
    names = page.locator(".event-name a.strong")

    page.keyboard.press("/")
    page.keyboard.type("found.")
    expect(names).to_have_text(["found.unheard", "found.heard"])
    page.get_by_text("Acted upon", exact=True).click()
    expect(names).to_have_text(["found.heard"])
    page.get_by_text("Left alone", exact=True).click()
    expect(names).to_have_text(["found.unheard"])
    expect(page).to_have_url(re.compile(r"\?q=found\.&matched=false$"))
    page.reload()
    expect(names).to_have_text(["found.unheard"])
    page.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(re.compile(r"/events$"))


def test_events_of_a_source_or_about_a_subject_are_a_click_away(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    send(page, "near.one", source="till-9", subject="receipt/1")
    send(page, "near.two", source="till-9", subject="receipt/2")
    visitor.open("/events?q=near.", "Events")
    names = page.locator(".event-name a.strong")

    page.get_by_role("link", name="till-9").first.click()
    page.get_by_role("link", name="receipt/1").click()
    expect(names).to_have_text(["near.one"])
    page.get_by_role("button", name="Without subject receipt/1").click()

    expect(names).to_have_text(["near.two", "near.one"])


def test_a_long_list_is_read_page_by_page(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    batch = [{"name": "many.seen", "data": {"number": number}} for number in range(60)]
    assert page.request.post("/api/v1/events", data=batch).ok
    visitor.open("/events?q=many.", "Events")
    expect(page.locator(".pager")).to_contain_text(re.compile("1.50 of 60 events"))

    page.get_by_role("button", name="Next page").click()

    expect(page.locator(".pager")).to_contain_text(re.compile("51.60 of 60 events"))
    expect(page).to_have_url(re.compile(r"offset=50"))


def test_what_comes_in_shows_by_itself(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/events?q=sudden.", "Events")
    expect(visitor.page.get_by_text("No event matches")).to_be_visible()

    send(visitor.page, "sudden.rain")

    expect(visitor.page.get_by_role("link", name="sudden.rain")).to_be_visible()


def test_an_event_is_sent_and_says_what_it_touched(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    listening(page, "sent.*", name="Listens to what is sent")
    visitor.open("/events", "Events")

    page.keyboard.press("s")
    page.get_by_role("dialog").get_by_label("Name").fill("sent.now")
    page.get_by_role("dialog").get_by_label("Data").fill('{"total": }')
    expect(page.get_by_text("This is no JSON yet")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    page.get_by_role("dialog").get_by_label("Data").fill('{"total": 12}')
    page.get_by_label("Idempotency key").fill("once")
    page.get_by_role("button", name="Send", exact=True).click()

    page.get_by_role("status").filter(has_text="sent.now was sent; 1 handler acted").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("sent.now")
    expect(page.get_by_role("region", name="Data of the event")).to_contain_text('"total": 12')


def test_a_key_that_was_used_before_is_told(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    send(page, "twice.sent", idempotency_key="twice")
    visitor.open("/events?send=1", "Events")

    page.get_by_role("dialog").get_by_label("Name").fill("twice.sent")
    page.get_by_label("Idempotency key").fill("twice")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.get_by_role("status").filter(has_text="had been sent with this key before")).to_be_visible()


def test_a_name_that_is_none_is_refused_beside_its_field(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open("/events?send=1", "Events")

    page.get_by_role("dialog").get_by_label("Name").fill("not a name")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator(".field-error")).to_contain_text("segments of letters")
    refused(visitor, "422")


def test_the_snapshot_tells_who_acted_who_did_not_and_why(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    listening(page, "told.all", name="Always", priority=90)
    listening(page, "told.all", name="Never", filter="event.data.total > 100")
    listening(page, "told.all", name="Cannot", filter="event.data.missing > 1")
    event = send(page, "told.all", data={"total": 5})
    visitor.open(f"/events/{event['event_id']}", "told.all")
    rows = page.get_by_role("table", name="What handlers made of it").get_by_role("row")

    expect(rows.filter(has_text="Always")).to_contain_text("acted")
    expect(rows.filter(has_text="Never")).to_contain_text("Its filter came to false.")
    expect(rows.filter(has_text="Cannot")).to_contain_text("there is no field missing")
    expect(page.get_by_role("region", name="What it touched")).to_contain_text("for other names")
    expect(page.get_by_role("table", name="Executions")).to_contain_text("succeeded")
    page.get_by_role("link", name="Always").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Always")


def test_what_came_of_an_event_is_a_click_away(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    listening(page, "made.this")
    event = send(page, "made.this")
    visitor.open(f"/events/{event['event_id']}", "made.this")

    page.locator(".made a").first.click()

    expect(page).to_have_url(re.compile(rf"/executions/{event['executions'][0]}$"))


def test_an_event_is_sent_again(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    event = send(page, "again.sent", data={"round": 1})
    visitor.open(f"/events/{event['event_id']}", "again.sent")

    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("dialog").get_by_label("Data")).to_have_value(re.compile('"round": 1'))
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.get_by_role("status").filter(has_text="again.sent was sent; no handler acted")).to_be_visible()


def test_a_node_that_had_no_event_says_how_to_send_one(visit: Visit, empty: str) -> None:
    visitor = visit(empty)
    visitor.open("/events", "Events")

    expect(visitor.page.get_by_text("No event has come in yet")).to_be_visible()
    assert visitor.audit() == []


def test_an_event_that_is_gone_says_so(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/events/01a20151-0000-7000-8000-000000000000", "Event")

    expect(visitor.page.get_by_role("alert")).to_contain_text("removed by retention")
    refused(visitor, "404")


def test_a_refusal_is_shown_in_its_own_words_and_tried_again_when_asked(visit: Visit) -> None:
    visitor = visit()
    problem = {"title": "Service Unavailable", "status": 503, "detail": "the database is away", "code": "UNAVAILABLE"}
    answer_with(visitor.page, "**/api/v1/events?*", status=503, body=problem)
    visitor.open("/events", "Events")
    expect(visitor.page.get_by_role("alert")).to_contain_text("the database is away")

    visitor.page.unroute("**/api/v1/events?*")
    visitor.page.get_by_role("button", name="Try again").click()

    expect(visitor.page.get_by_role("alert")).to_have_count(0)
    refused(visitor, "503")
