"""What a form sends of a job: what nobody touched goes out as it came in, and what cannot be read is not sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.dashboard.asking import ask, made
from tests.dashboard.browsing import Visitor

Visit = Callable[..., Visitor]

CALL: Final = {"handler_type": "http", "handler_name": "http", "enabled": False}


def sent(visitor: Visitor, job: Mapping[str, Any], **typed: str) -> Any:  # noqa: ANN401 - JSON
    """Have the form turn a job into what is typed, and that into what is sent, or into the field at fault."""
    source = """async ([job, typed]) => {
        const beside = document.querySelector("script[type=module]").src;
        const form = await import(new URL("pages/job-form/draft.js", beside));
        try { return form.documentOf({...form.draftOf(job), ...typed}); } catch (problem) { return problem.field; }
    }"""
    return visitor.page.evaluate(source, [job, typed])


@pytest.mark.parametrize(
    "payload",
    [
        {"method": "POST", "url": "http://127.0.0.1:9/", "body": "123"},
        {"method": "POST", "url": "http://127.0.0.1:9/", "body": '{"a": 1}'},
        {"method": "POST", "url": "http://127.0.0.1:9/", "body": {"a": 1}},
        {"method": "POST", "url": "http://127.0.0.1:9/", "body": "plain", "headers": {"A": "b: c"}},
    ],
)
def test_a_call_that_nobody_touched_is_sent_as_it_was(visit: Visit, payload: dict[str, Any]) -> None:
    visitor = visit()
    job = ask(visitor, "GET", f"/jobs/{made(visitor, 'Call the shop', **CALL, payload=payload)}")
    visitor.open("/jobs/new", "New job")

    assert sent(visitor, job)["payload"] == payload


def test_what_is_typed_is_never_turned_into_something_else(visit: Visit) -> None:
    visitor = visit()
    payload = {"method": "POST", "url": "http://127.0.0.1:9/", "body": {"a": 1}}
    job = ask(visitor, "GET", f"/jobs/{made(visitor, 'Call them all', **CALL, payload=payload)}")
    visitor.open("/jobs/new", "New job")

    assert "body" not in sent(visitor, job, method="GET")["payload"]
    assert sent(visitor, job, kind="daily", time="")["schedule"] == ""
    for field, typed in [("max_retries", {"max_retries": ""}), ("priority", {"priority": " "})]:
        assert sent(visitor, job, **typed) == field
    assert sent(visitor, job, headers="Foo") == sent(visitor, job, headers="A: 1\na: 2") == "payload.headers"


def test_a_number_that_is_wiped_out_is_asked_for_at_its_field(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    page.get_by_label("Name").fill("Knock once")
    page.get_by_label("Address").fill("http://127.0.0.1:9/")
    page.get_by_label("Retries").fill("")

    page.get_by_role("button", name="Make the job").click()

    expect(page.get_by_label("Retries")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Retries")).to_be_focused()


def test_a_zone_is_typed_letter_by_letter(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/jobs/new", "New job")
    page = visitor.page
    page.get_by_role("radiogroup", name="When it fires").get_by_text("Daily", exact=True).click()
    words = page.locator(".fires-words")
    expect(words).to_contain_text("Europe/Berlin")
    zone = page.get_by_label("Time zone")

    zone.fill("Asia/Toky")
    expect(page.get_by_text("The next fires show here once the schedule can be read")).to_be_visible()
    zone.press_sequentially("o")

    expect(words).to_contain_text("Asia/Tokyo")
    expect(page.get_by_role("list", name="Next fires").get_by_role("listitem")).to_have_count(10)
    visitor.wrong[:] = [each for each in visitor.wrong if "422" not in each]
