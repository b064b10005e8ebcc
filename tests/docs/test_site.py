"""The site as it is built: whole, strict, and asking no other host for anything."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import CHECKOUT, DOCS
from tocsin.domain.errors import TocsinError
from tocsin.domain.execution import ExecutionStatus, SkipReason
from tocsin.domain.facts import FACTS
from tocsin.ports.telemetry import Metric
from tocsin.settings import Settings

pytest.importorskip("mkdocs", reason="the documentation's tools are not installed")
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are not beside the tests")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(  # noqa: S603 - the program under test
        command,
        cwd=CHECKOUT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def text_of(site: Path, page: str) -> str:
    return re.sub(r"<[^>]+>", "", (site / page / "index.html").read_text("utf-8"))


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    asks = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\s(?:src|href)=["']?(?:https?:)?//[^>]*>""")
    pages = [*site.rglob("*.html")]

    assert len(pages) > 30
    assert [found for page in pages for found in asks.findall(page.read_text("utf-8"))] == []
    assert not any("@import" in css.read_text("utf-8") for css in site.rglob("*.css"))


def test_every_setting_is_in_the_reference(site: Path) -> None:
    text = text_of(site, "reference/settings")

    assert [name for name in Settings.model_fields if f"TOCSIN_{name.upper()}" not in text] == []


def test_every_error_state_reason_figure_and_fact_is_in_the_reference(site: Path) -> None:
    errors, states, figures = (text_of(site, f"reference/{page}") for page in ("errors", "states", "telemetry"))
    codes = {error.code for error in subclasses(TocsinError)} - {TocsinError.code}

    assert {code for code in codes if code not in errors} == set()
    assert [word for word in [*ExecutionStatus, *SkipReason] if word not in states] == []
    assert [word for word in [*Metric, *FACTS] if word not in figures] == []


def test_every_route_is_in_the_reference(site: Path) -> None:
    text = text_of(site, "reference/http-api")
    document = json.loads((site / "reference" / "openapi.json").read_text("utf-8"))
    routes = [f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods]

    assert len(routes) > 30
    assert [route for route in routes if route not in text] == []


def test_the_commands_are_in_the_reference_with_their_options(site: Path) -> None:
    text = text_of(site, "reference/cli")

    for words in ("tocsin serve [OPTIONS]", "--database-url URL", "tocsin jobs create", "tocsin ledger verify"):
        assert words in text


def test_sequence_diagrams_are_pictures_in_the_page(site: Path) -> None:
    page = (site / "explain" / "protocol" / "index.html").read_text("utf-8")

    assert page.count('<svg class="sequence"') == 2
    assert "finish, if attempt 1 still holds it" in page


def subclasses(kind: type[TocsinError]) -> Iterator[type[TocsinError]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("tocsin.domain"):
            yield each
            yield from subclasses(each)
