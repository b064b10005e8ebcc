"""Sequence diagrams in Mermaid's words, drawn as SVG when the site is built: no script, and nothing to fetch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

COLUMN: Final = 168
ROW: Final = 42
TOP: Final = 50
BOX: Final = 34
LINE: Final = 15
NOTE_CHARACTERS: Final = 24
"""How many characters a note takes for each column that it spans."""

_PARTICIPANT: Final = re.compile(r"participant (\w+)(?: as (.+))?")
_MESSAGE: Final = re.compile(r"(\w+)(--?>>)(\w+): (.+)")
_NOTE: Final = re.compile(r"Note over (\w+)(?:,(\w+))?: (.+)")

_HEAD: Final = (
    '<svg class="sequence" role="img" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">'
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L10 5L0 10z"/></marker></defs>'
)


class NotDrawn(ValueError):
    """A line says something that is not drawn here; the message is the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An arrow from one participant to another, or to itself."""

    start: int
    end: int
    text: str
    dashed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A remark over one participant or a range of them."""

    start: int
    end: int
    text: str

    @property
    def lines(self) -> Sequence[str]:
        """The text in lines that fit."""
        return _wrapped(self.text, NOTE_CHARACTERS * (self.end - self.start + 1))

    @property
    def height(self) -> int:
        """How much room it takes."""
        return len(self.lines) * LINE + 12


def fence(source: str, language: str, css_class: str, options: Any, md: Any, **_: Any) -> str:  # noqa: ANN401, ARG001 - what superfences calls
    """Draw a block of `mermaid`."""
    return f'<div class="diagram">{draw(source)}</div>'


def draw(source: str) -> str:
    """
    Draw a sequence diagram of participants, messages and notes.

    Raises:
        NotDrawn: a line is none of these.
    """
    names, steps = _read(source)
    body, bottom = _body(steps)
    width, height = COLUMN * len(names), bottom + 20
    columns = "".join(_column(index, name, bottom) for index, name in enumerate(names.values()))
    return _HEAD.format(width=width, height=height) + columns + body + "</svg>"


def _read(source: str) -> tuple[dict[str, str], list[Message | Note]]:
    names: dict[str, str] = {}
    steps: list[Message | Note] = []
    for line in filter(None, (line.strip() for line in source.splitlines()[1:])):
        if found := _PARTICIPANT.fullmatch(line):
            names[found[1]] = found[2] or found[1]
            continue
        order = list(names)
        if found := _MESSAGE.fullmatch(line):
            start, end = order.index(found[1]), order.index(found[3])
            steps.append(Message(start=start, end=end, text=found[4], dashed=found[2] == "-->>"))
        elif found := _NOTE.fullmatch(line):
            start, end = sorted((order.index(found[1]), order.index(found[2] or found[1])))
            steps.append(Note(start=start, end=end, text=found[3]))
        else:
            raise NotDrawn(line)
    return names, steps


def _body(steps: Sequence[Message | Note]) -> tuple[str, int]:
    drawn, y = "", TOP + 10
    for step in steps:
        if isinstance(step, Note):
            drawn += "".join(_note(step, y))
            y += step.height + 14
        else:
            y += ROW
            drawn += "".join(_message(step, y - 12))
    return drawn, y


def _column(index: int, name: str, bottom: int) -> str:
    x, left = _middle(index), _middle(index) - COLUMN // 2 + 17
    return (
        f'<line class="life" x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{bottom}"/>'
        f'<rect class="box" x="{left}" y="8" width="{COLUMN - 34}" height="{BOX}" rx="4"/>'
        f'<text class="name" x="{x}" y="{8 + BOX // 2 + 5}">{escape(name)}</text>'
    )


def _message(message: Message, y: int) -> Iterator[str]:
    start, end = _middle(message.start), _middle(message.end)
    dashes = ' stroke-dasharray="5 4"' if message.dashed else ""
    if start == end:
        path = f"M{start} {y - 8}h26v16h-24"
        yield f'<path class="arrow" d="{path}"{dashes} marker-end="url(#tip)"/>'
        yield f'<text class="to-itself" x="{start + 34}" y="{y + 4}">{escape(message.text)}</text>'
        return
    gap = 2 if end > start else -2
    yield f'<path class="arrow" d="M{start} {y}H{end - gap}"{dashes} marker-end="url(#tip)"/>'
    yield f'<text x="{(start + end) // 2}" y="{y - 7}">{escape(message.text)}</text>'


def _note(note: Note, y: int) -> Iterator[str]:
    left = _middle(note.start) - COLUMN // 2 + 6
    width = COLUMN * (note.end - note.start + 1) - 12
    yield f'<rect class="note" x="{left}" y="{y}" width="{width}" height="{note.height}" rx="3"/>'
    for number, line in enumerate(note.lines):
        yield f'<text x="{left + width // 2}" y="{y + 18 + number * LINE}">{escape(line)}</text>'


def _middle(index: int) -> int:
    return COLUMN * index + COLUMN // 2


def _wrapped(text: str, length: int) -> list[str]:
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) > length and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = joined
    return lines
