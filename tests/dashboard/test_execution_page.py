from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.dashboard.asking import ask, job_called, made, newest
from tests.dashboard.browsing import THEMES, WIDTHS, Theme, Visitor, answer_with

Visit = Callable[..., Visitor]

STOCK = "Sync stock with the warehouse"


def open_failure(visitor: Visitor) -> str:
    execution = newest(visitor, f"status=failed&origin=schedule&job_id={job_called(visitor, 'stock')}")
    visitor.open(f"/executions/{execution}", f"Execution of {STOCK}")
    return execution


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_keeps_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    open_failure(visitor)
    expect(visitor.page.get_by_role("log")).to_be_visible()

    assert visitor.audit() == []
    assert not visitor.is_too_wide()


def test_a_failure_tells_its_error_its_stack_and_each_attempt(visit: Visit) -> None:
    visitor = visit()
    open_failure(visitor)
    page = visitor.page

    error = page.get_by_role("region", name="Error")
    expect(error).to_contain_text("warehouse.example:5432 refused the connection")
    expect(error.get_by_role("region", name="Stack")).to_contain_text("raise ConnectionError")
    spans = page.get_by_role("region", name="Time line").get_by_role("listitem")
    expect(spans).to_contain_text(["Created", "Queued", "Attempt 1", "Waits to retry", "Attempt 2"])
    expect(spans.nth(2)).to_contain_text("ConnectionError")


def test_a_log_that_is_complete_is_searched(visit: Visit) -> None:
    visitor = visit()
    open_failure(visitor)
    lines = visitor.page.locator(".log-line")
    expect(visitor.page.get_by_text("complete", exact=True)).to_be_visible()
    expect(lines).to_have_count(4)

    visitor.page.get_by_role("searchbox", name="Find in the log").fill("refused")

    expect(lines).to_have_count(2)
    expect(lines.first).to_contain_text("host=warehouse.example")


def test_a_log_is_followed_while_it_is_written(visit: Visit) -> None:
    visitor = visit()
    job = made(visitor, "Moves slowly", type="event", schedule=None, handler_name="shop.long", timeout_ms=3_600_000)
    execution = ask(visitor, "POST", f"/jobs/{job}/trigger", {})["id"]
    visitor.open(f"/executions/{execution}", "Execution of Moves slowly")
    log = visitor.page.get_by_role("log")

    expect(log).to_contain_text("begun photos=12000")
    expect(visitor.page.get_by_text("live", exact=True).first).to_be_visible()
    # The next line comes after nine seconds; nothing is clicked.
    expect(log).to_contain_text("moved photos=120")


def test_an_execution_that_runs_is_cancelled_once_that_is_confirmed(visit: Visit) -> None:
    visitor = visit()
    job = made(visitor, "Moves in vain", type="event", schedule=None, handler_name="shop.long", timeout_ms=3_600_000)
    execution = ask(visitor, "POST", f"/jobs/{job}/trigger", {})["id"]
    visitor.open(f"/executions/{execution}", "Execution of Moves in vain")
    page = visitor.page

    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Let it run").click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel execution").click()

    expect(page.locator(".page-title .badge")).to_have_text("cancelled")


def test_a_failure_is_retried_and_the_new_execution_shown(visit: Visit) -> None:
    visitor = visit()
    failed = open_failure(visitor)

    visitor.page.get_by_role("button", name="Retry").click()

    expect(visitor.page).not_to_have_url(re.compile(failed))
    expect(visitor.page.get_by_role("region", name="About")).to_contain_text("a retry")
    expect(visitor.page.locator(f"a[href='/executions/{failed}']")).to_be_visible()


def test_a_trace_leads_to_where_the_node_says_that_traces_are_shown(visit: Visit) -> None:
    visitor = visit()
    told = {"trace_url": "http://jaeger.example/trace/{trace_id}"}
    answer_with(visitor.page, "**/dashboard/surroundings", status=200, body=told)
    execution = open_failure(visitor)
    trace = ask(visitor, "GET", f"/executions/{execution}")["trace_id"]

    link = visitor.page.get_by_role("link", name="Open trace")

    expect(link).to_have_attribute("href", f"http://jaeger.example/trace/{trace}")


def test_without_such_a_place_there_is_the_trace_id_alone(visit: Visit) -> None:
    visitor = visit()
    open_failure(visitor)

    expect(visitor.page.get_by_role("button", name="Copy the trace id")).to_be_visible()
    expect(visitor.page.get_by_role("link", name="Open trace")).to_have_count(0)


def test_an_execution_that_is_not_there_is_said_to_be_gone(visit: Visit) -> None:
    visitor = visit()

    visitor.open("/executions/01890000-0000-7000-8000-000000000000", "Execution")

    expect(visitor.page.get_by_role("alert")).to_contain_text("removed by retention")
    assert visitor.audit() == []
    # The browser notes each answer that is a refusal.
    visitor.wrong[:] = [each for each in visitor.wrong if "404" not in each]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_keeps_nobody_out(visit: Visit, theme: Theme, width: int) -> None:
    visitor = visit(theme=theme, width=width)
    visitor.open("/executions?status=failed&status=timeout", "Executions")
    expect(visitor.page.get_by_role("table", name="Executions")).to_be_visible()

    assert visitor.audit() == []
    assert not visitor.is_too_wide()


def test_the_list_is_narrowed_and_stays_so_over_a_reload(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/executions", "Executions")
    page = visitor.page

    page.get_by_role("button", name="failed").click()
    page.get_by_label("Made by").select_option("schedule")
    page.get_by_label("Scheduled within").select_option("24h")
    expect(page).to_have_url(re.compile(r"status=failed&origin=schedule&within=24h"))
    page.reload()

    expect(page.get_by_role("button", name="failed")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("tbody .cell-status").first).to_have_text("failed")
    page.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(re.compile("/executions$"))


def test_the_list_is_leafed_through(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/executions?status=success", "Executions")
    page = visitor.page
    expect(page.get_by_text(re.compile("^1.50 of"))).to_be_visible()

    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text(re.compile("^51.100 of"))).to_be_visible()
    page.go_back()

    expect(page.get_by_text(re.compile("^1.50 of"))).to_be_visible()


def test_the_executions_of_one_job_name_it_and_let_go_of_it(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"/executions?job_id={job_called(visitor, 'backup')}", "Executions")

    visitor.page.get_by_role("button", name="Without job Nightly backup").click()

    expect(visitor.page).to_have_url(re.compile("/executions$"))


def test_a_failure_is_retried_from_the_list(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/executions?status=failed", "Executions")

    visitor.page.get_by_role("button", name=re.compile("Actions for execution")).first.click()
    visitor.page.get_by_role("menuitem", name="Retry").click()

    expect(visitor.page.get_by_role("status").filter(has_text="It runs again")).to_be_visible()


def test_a_node_that_has_run_nothing_leads_to_a_first_job(visit: Visit, empty: str) -> None:
    visitor = visit(empty)
    visitor.open("/executions", "Executions")

    expect(visitor.page.get_by_text("Nothing has run yet")).to_be_visible()
    assert visitor.audit() == []
