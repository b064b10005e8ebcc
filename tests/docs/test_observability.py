"""The table of figures on the page is the one that a node serves."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS
from tocsin.ports.metrics import METRICS, MetricKind

PAGE = DOCS / "observability.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are not beside the tests")
def test_the_page_says_of_every_figure_what_the_node_says_of_it() -> None:
    rows = re.findall(r"^\| `(tocsin\.[a-z._]+)` \| (.+?) \| (.*?) ?\| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    told = {
        (
            metric.value,
            f"{each.kind}, s" if each.kind is not MetricKind.COUNTER and each.unit == "s" else str(each.kind),
            ", ".join(f"`{label}`" for label in each.labels),
            each.description,
        )
        for metric, each in METRICS.items()
    }

    assert set(rows) == told
