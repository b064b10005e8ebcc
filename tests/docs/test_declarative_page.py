from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.docs.walk import a_reader

PAGE = DOCS / "how-to" / "declarative.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are not beside the tests")
async def test_what_the_page_about_declarations_says_works_as_pasted(tmp_path: Path) -> None:
    with a_reader(tmp_path) as reader:
        await reader.through(PAGE)
