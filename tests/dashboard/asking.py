"""What a test asks the node itself: to make what a page is then to show, and to find out what a click came to."""

from __future__ import annotations

from typing import Any, Final

from tests.dashboard.browsing import Visitor

STEADY: Final = {"type": "interval", "schedule": "every 6h", "handler_name": "shop.steady"}


def ask(visitor: Visitor, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
    """Send a request past the page; it must be granted."""
    answer = visitor.page.request.fetch(f"{visitor.url}/api/v1{path}", method=method, data=body)
    assert answer.ok, answer.text()
    return answer.json() if answer.text() else None


def made(visitor: Visitor, name: str, **fields: object) -> str:
    """Make a job that is a test's own; answers its id."""
    return str(ask(visitor, "POST", "/jobs", {"name": name, **STEADY, **fields})["id"])


def job_called(visitor: Visitor, name: str) -> str:
    """Find the id of a job."""
    return str(ask(visitor, "GET", f"/jobs?name_contains={name}")["items"][0]["id"])


def newest(visitor: Visitor, query: str) -> str:
    """Find the id of the newest execution that a query asks for."""
    return str(ask(visitor, "GET", f"/executions?limit=1&{query}")["items"][0]["id"])
