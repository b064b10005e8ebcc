"""YAML by the core schema of version 1.2, so that `no` is a text and `1:30` too, read with the line of every field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import yaml

from ....domain.json import NESTING_LIMIT, Json
from .places import Path, Unreadable

NODES_LIMIT: Final = 1_000_000
"""How many values a file may come to once its aliases are followed: a few lines may stand for billions."""

_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = f"{_TAG}merge"
# https://yaml.org/spec/1.2.2/#103-core-schema; the merge key is of version 1.1, and what everybody uses.
_CORE: Final = (
    (f"{_TAG}null", re.compile(r"~|null|Null|NULL|"), [*"~nN", ""]),
    (f"{_TAG}bool", re.compile(r"true|True|TRUE|false|False|FALSE"), [*"tTfF"]),
    (f"{_TAG}int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"), [*"-+0123456789"]),
    (
        f"{_TAG}float",
        re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
        [*"-+.0123456789"],
    ),
    (_MERGE, re.compile(r"<<"), ["<"]),
)
_LONGEST_NUMBER: Final = 400
_BREAKS: Final = "\r\x85\u2028\u2029"


def read_yaml(text: str) -> tuple[Json, Mapping[Path, int]]:
    """
    Read one document; answer it with the line, from 1 on, at which each of its values stands.

    Raises:
        Unreadable: it is no YAML, or holds what JSON has no form for; with the line.
    """
    try:
        _refuse_depth(text)
        node = yaml.compose(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(filter(None, (error.context, error.problem)))
        raise Unreadable(f"is not YAML: {problem}", None if mark is None else mark.line + 1) from None
    except yaml.YAMLError as error:
        raise Unreadable(f"is not YAML: {error}") from None
    reading = _Reading()
    return (None if node is None else reading.value(node, ())), reading.lines


def _refuse_depth(text: str) -> None:
    """Go through the file step by step first: where it nests too deeply, the parser in C would end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > NESTING_LIMIT + 1:
            raise Unreadable("nests too deeply", None if event.start_mark is None else event.start_mark.line + 1)


def write_yaml(document: Json) -> str:
    """Write a document so that `read_yaml`, and readers of version 1.1, read the same again."""
    written = yaml.dump(
        document, Dumper=_dumper(), sort_keys=False, allow_unicode=True, default_flow_style=False, width=120
    )
    return str(written)


@dataclass(slots=True)
class _Reading:
    """One walk through a file, which gives up where aliases make it larger than any file."""

    lines: dict[Path, int] = field(default_factory=dict)
    _left: int = NODES_LIMIT
    _merging: int = 0

    def value(self, node: yaml.Node, path: Path) -> Json:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._count(line, len(path))
        match node:
            case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
                return self._mapping(node, path)
            case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self.value(item, (*path, position)) for position, item in enumerate(node.value)]
            case yaml.ScalarNode() if node.tag in _SCALARS:
                return _scalar(node, line)
        raise Unreadable(f"has no form here: {node.tag.removeprefix(_TAG)}", line)

    def _count(self, line: int, depth: int) -> None:
        self._left -= 1
        if self._left < 0:
            raise Unreadable("comes to too much once its aliases are followed", line)
        if depth > NESTING_LIMIT:
            raise Unreadable("nests too deeply, or refers to itself", line)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, item in node.value:
            if key.tag != _MERGE:
                name = self._name(key)
                if name in found:
                    raise Unreadable(f"{name!r} is given twice", key.start_mark.line + 1)
                # What the mapping has itself was read first, and wins over what it merges.
                self.lines.setdefault((*path, name), key.start_mark.line + 1)
                found[name] = self.value(item, (*path, name))
        for merged in self._merged(node, path):
            found = {**merged, **found}
        return found

    def _merged(self, node: yaml.MappingNode, path: Path) -> Iterator[dict[str, Json]]:
        for key, item in node.value:
            if key.tag == _MERGE:
                for each in item.value if isinstance(item, yaml.SequenceNode) else [item]:
                    if not isinstance(each, yaml.MappingNode):
                        raise Unreadable("<< takes a mapping, or a list of mappings", key.start_mark.line + 1)
                    self._merging += 1
                    self._count(key.start_mark.line + 1, self._merging)
                    yield self._mapping(each, path)
                    self._merging -= 1

    def _name(self, key: yaml.Node) -> str:
        if not isinstance(key, yaml.ScalarNode):
            raise Unreadable("a name must be a text", key.start_mark.line + 1)
        return str(key.value)


def _scalar(node: yaml.ScalarNode, line: int) -> Json:
    try:
        return _SCALARS[node.tag](node.value)
    except ValueError as error:
        raise Unreadable(str(error), line) from None


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)


def _float(text: str) -> float:
    value = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if not math.isfinite(value):
        raise ValueError(f"{text} is no JSON number")
    return value


_SCALARS: Final[Mapping[str, Callable[[str], Json]]] = {
    f"{_TAG}str": str,
    f"{_TAG}null": lambda _: None,
    f"{_TAG}bool": lambda text: text.lower() == "true",
    f"{_TAG}int": _integer,
    f"{_TAG}float": _float,
}


@cache
def _loader() -> Any:  # noqa: ANN401 - a class of the library's, in C where that was built
    class Core(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # as above
        yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - the library's own attribute

    for tag, pattern, first in _CORE:
        # The library matches from the start, but not up to the end.
        Core.add_implicit_resolver(tag, re.compile(f"(?:{pattern.pattern})$"), first)
    return Core


@cache
def _dumper() -> type[yaml.SafeDumper]:
    class Both(yaml.SafeDumper):
        """Quotes what either version would take for something else than a text."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
            super().increase_indent(flow, indentless=False)

    for tag, pattern, first in _CORE:
        Both.add_implicit_resolver(tag, re.compile(f"(?:{pattern.pattern})$"), first)
    Both.add_representer(str, _text)
    return Both


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Write scripts line by line, and escape what only version 1.1 takes for the end of a line."""
    style = '"' if any(each in text for each in _BREAKS) else "|" if "\n" in text else None
    return dumper.represent_scalar(f"{_TAG}str", text, style=style)
