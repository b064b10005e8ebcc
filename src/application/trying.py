"""Trying out: what a filter comes to over an event that nobody has published."""

from __future__ import annotations

from ..domain.errors import InvalidEventHandler
from ..domain.event import Event
from ..domain.event_definition import faults_of_pattern
from ..domain.json import Json
from ..domain.patterns import matches
from ..ports.event_requests import FilterTrial
from ..ports.expressions import Expressions, Failed
from .event_words import variables_of


async def tried(expressions: Expressions, expression: str | None, event: Event, *, pattern: str | None) -> FilterTrial:
    """Hold an event against a pattern and a filter, as an event handler of its tenant would."""
    fault = None if pattern is None else next(faults_of_pattern(pattern), None)
    if fault is not None:
        return _trial(error=f"{fault.field}: {fault.message}")
    name_matches = pattern is None or matches(pattern, event.name)
    if expression is None:
        return _trial(name_matches=name_matches, result=True)
    try:
        expressions.check("filter", expression)
    except InvalidEventHandler as refusal:
        return _trial(name_matches=name_matches, error=refusal.message)
    [result] = await expressions.evaluate([expression], variables_of([event]))
    if isinstance(result, Failed):
        return _trial(name_matches=name_matches, error=f"filter: {result.reason}")
    if not isinstance(result, bool):
        return _trial(name_matches=name_matches, result=result, error="filter: comes to neither true nor false")
    return _trial(name_matches=name_matches, result=result)


def _trial(*, name_matches: bool = False, result: Json = None, error: str | None = None) -> FilterTrial:
    return FilterTrial(matches=name_matches and result is True, name_matches=name_matches, result=result, error=error)
