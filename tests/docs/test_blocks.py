"""No page has commands that nobody runs, and the rules of running them hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import test_pages
from tests.docs.pages import CHECKOUT, DOCS, blocks, is_printed, steps

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are not beside the tests")

UNTESTED = {
    DOCS / "benchmarks" / "peers.md": "measurements of hours",
    DOCS / "faults.md": "the suites themselves",
    DOCS / "matrix.md": "the suites themselves",
    DOCS / "performance.md": "measurements of hours",
}
"""Pages whose commands are about this checkout and not about the program."""


def pages() -> list[Path]:
    """List the pages that are written by hand, decisions aside."""
    return [CHECKOUT / "README.md", *(page for page in DOCS.rglob("*.md") if page.parent.name != "decisions")]


@pytest.mark.parametrize("page", [page for page in pages() if page not in UNTESTED], ids=lambda page: page.stem)
def test_every_page_with_commands_is_run(page: Path) -> None:
    named = Path(test_pages.__file__).read_text("utf-8")

    assert not list(steps(page)) or f'"{page.stem}' in named


@pytest.mark.parametrize("page", [page for page in pages() if page not in UNTESTED], ids=lambda page: page.stem)
def test_every_block_of_code_is_run_or_says_why_not(page: Path) -> None:
    code = [block for block in blocks(page) if block.language in {"sh", "bash", "python"}]

    assert all(block.is_run or block.file or block.is_excused for block in code)


@pytest.mark.parametrize("page", [page for page in pages() if page not in UNTESTED], ids=lambda page: page.stem)
def test_every_block_says_what_it_is_so_that_no_command_passes_for_something_else(page: Path) -> None:
    assert [block.text for block in blocks(page) if not block.language] == []


@pytest.mark.parametrize(
    ("lines", "output", "expected"),
    [
        (["a", "c"], "a\nb\nc\n", True),
        (["c", "a"], "a\nb\nc\n", False),
        (["…b…"], "a b c", True),
        (["a … c"], "a b  c", True),
        (["a"], "a b", False),
        (["a", "a"], "a", False),
        ([], "anything", True),
    ],
)
def test_what_is_printed_has_the_lines_in_their_order(lines: list[str], output: str, *, expected: bool) -> None:
    assert is_printed(lines, output) is expected


def test_a_page_is_read_block_by_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```python title="a.py"\nprint(1)\n```\n\n'
        '```sh title="Terminal 2"\nexport A=1\ntocsin serve\n```\n\n'
        '<!-- until it prints this -->\n```sh title="exits with 3"\npython a.py\n```\n\n```text\n1\n```\n\n'
        "<!-- not run: because -->\n```sh\nreboot\n```\n",
        "utf-8",
    )
    file, node, command = steps(page)

    assert (file.block.file, file.block.text) == ("a.py", "print(1)\n")
    assert (node.block.terminal, node.block.goes_on) == (2, True)
    assert (command.repeats, command.block.exit_code, command.prints) == (True, 3, ["1"])
