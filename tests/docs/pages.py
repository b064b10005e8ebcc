"""The blocks of a page, in order, and what is to be done with each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]
DOCS: Final = CHECKOUT / "docs"

_BLOCK: Final = re.compile(
    r"(?:^[ ]*<!-- (?P<comment>[^>]*) -->\n)?"
    r'^(?P<indent>[ ]*)```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^(?P=indent)```$',
    re.DOTALL | re.MULTILINE,
)
_FILE: Final = re.compile(r"[\w./-]+\.\w+|[A-Z]\w+file")
_TERMINAL: Final = re.compile(r"Terminal (\d)")
_EXIT: Final = re.compile(r"exits with (\d+)")
_SERVES: Final = re.compile(r"^tocsin serve(?:[^\n]|\\\n)*\Z", re.MULTILINE)

NOT_RUN: Final = "not run: "
UNTIL: Final = "until it prints this"
INSTALLS: Final = "installs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its text, and what stands around it."""

    language: str
    title: str
    comment: str
    text: str

    @property
    def file(self) -> str | None:
        """The name under which it is kept, if it is a file."""
        return self.title if _FILE.fullmatch(self.title) else None

    @property
    def is_run(self) -> bool:
        """True if it is commands, and nothing says that they cannot be run."""
        return self.language == "sh" and self.file is None and not self.is_excused

    @property
    def installs(self) -> bool:
        """True if it fetches packages, which not every run of the tests has time and leave for."""
        return self.comment == INSTALLS

    @property
    def is_excused(self) -> bool:
        """True if a comment says why it is not run."""
        return self.comment.startswith(NOT_RUN) and len(self.comment) > len(NOT_RUN)

    @property
    def terminal(self) -> int:
        """The number of the shell that runs it."""
        found = _TERMINAL.search(self.title)
        return int(found[1]) if found else 1

    @property
    def exit_code(self) -> int:
        """How its last command ends."""
        found = _EXIT.search(self.title)
        return int(found[1]) if found else 0

    @property
    def goes_on(self) -> bool:
        """True if it leaves a node running."""
        return _SERVES.search(self.text.rstrip()) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A block that is run or written, and what it is to print."""

    block: Block
    prints: Sequence[str] = ()

    @property
    def repeats(self) -> bool:
        """True if it is run until it prints that."""
        return self.block.comment == UNTIL


def blocks(page: Path) -> Sequence[Block]:
    """List the blocks of a page."""
    return [
        Block(
            language=found["language"],
            title=found["title"] or "",
            comment=found["comment"] or "",
            text=dedent(found["text"]),
        )
        for found in _BLOCK.finditer(page.read_text("utf-8"))
    ]


def steps(page: Path) -> Iterator[Step]:
    """List what a page has to be done, in order."""
    every = [*blocks(page), None]
    for block, following in pairwise(every):
        if block is None or not (block.is_run or block.file):
            continue
        printed = block.is_run and following is not None and following.language == "text" and not following.title
        yield Step(block=block, prints=following.text.splitlines() if printed and following else ())


def is_printed(lines: Sequence[str], output: str) -> bool:
    """Tell whether an output has these lines in this order; runs of blanks count as one."""
    wanted = [line for line in map(_plain, lines) if line not in {"", "…"}]
    printed = iter([_plain(line) for line in output.splitlines()])
    return all(any(_pattern(line).fullmatch(each) for each in printed) for line in wanted)


def _plain(line: str) -> str:
    return " ".join(line.split())


def _pattern(line: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part.strip()) for part in line.split("…")))
