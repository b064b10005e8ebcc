"""
Templates: JSON in whose strings `{{ expression }}` stands for what an expression comes to.

A string that is one placeholder and nothing else takes its result with its type; anywhere else the result is put in
as text, a string as it is and everything else as JSON. Keys of objects are no templates. An expression may hold
strings and braces of its own, such as `{{ {"id": event.data.id} }}`; `{{{{` stands for two braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .json import Json, NotStorable, encoded

PLACEHOLDERS_LIMIT: Final = 100
"""Placeholders of one template."""

_LONGEST: Final = 2048
"""Characters in which a placeholder must end, well above those that an expression may have."""

_OPEN: Final = "{{"
_CLOSE: Final = "}}"
_ESCAPED: Final = _OPEN * 2

# A string of CEL, whole; braces within it are text. Raw strings know no escapes.
_TOKEN: Final = re.compile(
    r"""
    [rR](?:'''.*?'''|\"\"\".*?\"\"\"|'[^']*'|"[^"]*")
    | '''(?:\\.|[^\\])*?''' | \"\"\"(?:\\.|[^\\])*?\"\"\" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*"
    | .
    """,
    re.DOTALL | re.VERBOSE,
)


class MalformedTemplate(ValueError):
    """A placeholder is empty or has no end, or there are more than `PLACEHOLDERS_LIMIT`."""


@dataclass(frozen=True, slots=True)
class _Placeholder:
    expression: str


def placeholders(template: Json) -> list[str]:
    """
    List the expressions of a template in the order in which they come, each once.

    Raises:
        MalformedTemplate: the message says where.
    """
    found = [part.expression for text in _texts(template) for part in _parts(text) if isinstance(part, _Placeholder)]
    if len(found) > PLACEHOLDERS_LIMIT:
        raise MalformedTemplate(f"has more than {PLACEHOLDERS_LIMIT} placeholders")
    return list(dict.fromkeys(found))


def is_template(text: str) -> bool:
    """Tell whether a text is not simply what it says."""
    return _OPEN in text


def rendered(template: Json, results: Mapping[str, Json], *, limit: int) -> Json:
    """
    Put the result of each expression in its place, as far as that takes no more than `limit` bytes of JSON.

    What has no more characters than that may take more bytes still.

    Raises:
        MalformedTemplate: as for `placeholders`.
        NotStorable: the outcome would be larger; no more of it was made.
        KeyError: there is no result for one of them.
    """
    return _Rendering(results, limit).filled(template)


@dataclass(slots=True)
class _Rendering:
    """One walk through a template, which gives up once it has come to more characters than the limit has bytes."""

    results: Mapping[str, Json]
    limit: int
    _spent: int = 0
    _texts: dict[str, str] = field(default_factory=dict)

    def filled(self, template: Json) -> Json:
        match template:
            case str():
                return self._put(list(_parts(template)))
            case Mapping():
                return {key: self.filled(value) for key, value in template.items()}
            case list() | tuple():
                return [self.filled(value) for value in template]
            case _:
                return template

    def _put(self, parts: list[str | _Placeholder]) -> Json:
        match parts:
            case [_Placeholder(expression)]:
                self._text(expression)
                return self.results[expression]
            case _:
                return "".join(part if isinstance(part, str) else self._text(part.expression) for part in parts)

    def _text(self, expression: str) -> str:
        text = self._texts.get(expression)
        if text is None:
            result = self.results[expression]
            text = self._texts[expression] = result if isinstance(result, str) else encoded(result)
        self._spent += len(text)
        if self._spent > self.limit:
            raise NotStorable(f"comes to more than {self.limit} bytes as JSON")
        return text


def _texts(template: Json) -> Iterator[str]:
    match template:
        case str():
            yield template
        case Mapping():
            for value in template.values():
                yield from _texts(value)
        case list() | tuple():
            for value in template:
                yield from _texts(value)


def _parts(text: str) -> Iterator[str | _Placeholder]:
    """Take a text apart into what stands as it is, never empty, and placeholders."""
    position = 0
    while (start := text.find(_OPEN, position)) >= 0:
        if start > position:
            yield text[position:start]
        if text.startswith(_ESCAPED, start):
            yield _OPEN
            position = start + len(_ESCAPED)
            continue
        end = _end_of(text, start + len(_OPEN))
        expression = text[start + len(_OPEN) : end].strip()
        if not expression:
            raise MalformedTemplate(f"the placeholder at character {start} is empty")
        yield _Placeholder(expression)
        position = end + len(_CLOSE)
    if position < len(text):
        yield text[position:]


def _end_of(text: str, start: int) -> int:
    """Find where the braces that close a placeholder begin, past the strings and braces of its expression."""
    depth, position = 0, start
    limit = min(len(text), start + _LONGEST)
    while position < limit and (token := _TOKEN.match(text, position, limit)):
        if depth == 0 and text.startswith(_CLOSE, position):
            return position
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        position = token.end()
    raise MalformedTemplate(f"the placeholder at character {start - len(_OPEN)} has no end")
