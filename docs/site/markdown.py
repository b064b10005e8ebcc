"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; a cell is Markdown in one line."""
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(lines) + "\n\n"


def code(text: object) -> str:
    """Write a word as code, nothing as nothing."""
    written = str(text)
    return f"`{written}`" if written else ""


def fenced(text: str, language: str = "text") -> str:
    """Write lines as they are."""
    return f"```{language}\n{text.strip()}\n```\n\n"


def plain(text: str) -> str:
    """Write a text in which nothing but `code` is meant to be Markdown."""
    return "".join(
        part if part.startswith("`") else escape(part, quote=False).replace("*", r"\*").replace("_", r"\_")
        for part in re.split(r"(`[^`]*`)", " ".join(text.split()))
    )


def first_sentence(docstring: str | None) -> str:
    """Give the first paragraph of a docstring."""
    return plain((docstring or "").strip().partition("\n\n")[0])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
