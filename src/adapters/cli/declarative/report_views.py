"""The plan of an application as people read it: what is created, changed field by field, kept and pruned."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from ....domain.json import Json
from ....domain.reconciliation import Fate, FieldChange
from ..texts import shortened, visible
from .applying import Line, Report

_SIGNS: Final[Mapping[Fate, tuple[str, str]]] = MappingProxyType(
    {
        Fate.CREATE: ("+", "green"),
        Fate.CHANGE: ("~", "yellow"),
        Fate.KEEP: (" ", "dim"),
        Fate.PRUNE: ("-", "red"),
        Fate.LEFT_OVER: ("?", "yellow"),
        Fate.CONFLICT: ("!", "red"),
    }
)
_COUNTED: Final[Mapping[Fate, tuple[str, str]]] = MappingProxyType(
    {
        Fate.CREATE: ("to create", "created"),
        Fate.CHANGE: ("to change", "changed"),
        Fate.PRUNE: ("to prune", "pruned"),
        Fate.KEEP: ("as declared", "as declared"),
        Fate.LEFT_OVER: ("left over", "left over"),
        Fate.CONFLICT: ("in conflict", "in conflict"),
    }
)
"""How many of each there are, before and after it is done."""

_LONGEST_VALUE: Final = 60
_DEEPEST: Final = 4
_INDENT: Final = " " * 4


def drawn(report: Report) -> RenderableType:
    """Draw a plan with its sum, where it is not carried out."""
    return Group(shown_plan(report), summary(report))


def shown_plan(report: Report) -> RenderableType:
    """Draw what becomes of each; of what is kept, if anything is not, only how many there are."""
    shown = [line for line in report.lines if line.fate is not Fate.KEEP]
    fates = max((len(line.fate.words) for line in shown), default=0)
    titles = max((len(_title(line)) for line in shown), default=0)
    drawn_lines = [each for line in shown for each in _lines(line, fates, titles)]
    kept = report.count(Fate.KEEP)
    rest = [Text(f"  {kept} more as declared", style="dim")] if kept and shown else []
    return Group(*drawn_lines, *rest)


def summary(report: Report) -> RenderableType:
    """Say in one line what is to come of it, or came, after what went wrong."""
    failed = [
        Text(f"! {_title(line)} ({line.place or 'no file'}): {visible(line.error or '')}", style="red")
        for line in report.failed
    ]
    counts = [(report.count(fate), words[report.applied]) for fate, words in _COUNTED.items()]
    told = [f"{count} {words}" for count, words in [*counts, (len(report.failed), "failed")] if count]
    outcome = "" if report.applied else "; nothing was changed"
    text = f"Scope {report.scope}: {', '.join(told) or 'nothing is declared'}{outcome}"
    return Group(*failed, Text(text, style="bold"))


def _lines(line: Line, fates: int, titles: int) -> Iterator[Text]:
    sign, style = _SIGNS[line.fate]
    yield Text.assemble(
        (f"{sign} {line.fate.words:{fates}}  ", style), f"{_title(line):{titles}}  ", (_remark(line), "dim")
    )
    changes = list(_flat(line.changes))
    longest = max((len(visible(change.field)) for change in changes), default=0)
    for change in changes:
        yield Text.assemble(
            (f"{_INDENT}{visible(change.field):{longest}}  ", "dim"),
            (_value(change.before), "red"),
            " → ",
            (_value(change.after), "green"),
        )


def _title(line: Line) -> str:
    return f"{line.kind.words} {visible(line.key)}"


def _remark(line: Line) -> str:
    place = "" if line.place is None else f"({visible(line.place)})"
    match line.fate:
        case Fate.CREATE:
            return f"{visible(line.detail or '')} {place}"
        case Fate.CONFLICT:
            return f"belongs to scope {line.scope}, and differs; --adopt takes it over {place}"
        case Fate.LEFT_OVER:
            return "no file has it any more; it goes on unless --prune deletes it"
        case Fate.PRUNE:
            return "no file has it any more"
        case _ if line.adopted:
            return f"becomes scope {line.scope}'s {place}"
        case _:
            return place


def _flat(changes: Sequence[FieldChange]) -> Iterator[FieldChange]:
    """Take documents apart, so that one new header in a payload is one line."""
    for change in changes:
        yield from _taken_apart(change, _DEEPEST)


def _taken_apart(change: FieldChange, levels: int) -> Iterator[FieldChange]:
    before, after = change.before, change.after
    if levels == 0 or not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield change
        return
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name), after.get(name)
        if one != other:
            yield from _taken_apart(FieldChange(field=f"{change.field}.{name}", before=one, after=other), levels - 1)


def _value(value: Json) -> str:
    match value:
        case None:
            return "-"
        case str():
            return shortened(value or '""', _LONGEST_VALUE)
        case _:
            return shortened(json.dumps(value, ensure_ascii=False), _LONGEST_VALUE)
