"""Definitions as they are read: whatever somebody wrote into the store, it hinders nobody but its own job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Final

from .definition import INTEGER_BOUNDS, TEXT_BOUNDS, from_document
from .job import JobDefinition, JobType
from .json import clean_text

_DEFINITIONS_KEPT: Final = 16_384
"""As many as there may be jobs that are due in one second, at 1 or 2 KiB each."""
_LONGEST_KEPT: Final = 4096
_LONGEST_PROBLEM: Final = 1024
_NUMBERS: Final = tuple(
    (name, attrgetter(name), min(lowest, 1), highest) for name, (lowest, highest) in INTEGER_BOUNDS.items()
)
_TEXTS: Final = tuple((name, attrgetter(name)) for name in TEXT_BOUNDS)
_OPTIONAL: Final = frozenset(field.name for field in fields(JobDefinition) if field.default is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableDefinition(JobDefinition):
    """
    Stands in for a definition that cannot be read, so that its job can be seen, failed, cancelled and deleted.

    `unsound` is what it says where that could be read, though nobody can work with it: as a version records it.
    """

    problem: str
    unsound: JobDefinition | None = None


def own_definition(text: str) -> JobDefinition:
    """Read a definition for somebody who may do with its documents as they like."""
    unsound = None
    try:
        unsound = from_document(json.loads(text))
        return _sound(unsound)
    # A row that somebody else wrote may lack anything and hold anything: each of these says that it does.
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = clean_text(f"{type(error).__name__}: {error}", limit=_LONGEST_PROBLEM)
        problem = f"the stored definition cannot be read ({reason})"
        return UnreadableDefinition(
            name="unreadable",
            type=JobType.EVENT,
            handler_name="unreadable",
            description=problem,
            problem=problem,
            unsound=unsound,
        )


def shared_definition(text: str) -> JobDefinition:
    """Read a definition for the loops, which meet the same ones again and again and change nothing in them."""
    return _kept_definition(text) if len(text) <= _LONGEST_KEPT else own_definition(text)


# Kept by the text itself, so that no edit of the store, whoever made it, is ever overlooked.
_kept_definition = lru_cache(maxsize=_DEFINITIONS_KEPT)(own_definition)


def _sound(definition: JobDefinition) -> JobDefinition:
    """
    Hold a definition against what the code that runs it takes for granted; every other bound is for callers.

    Raises:
        TypeError: it names the fields that are not sound.
    """
    unsound = [name for check in (_numbers, _texts, _instants) for name in check(definition)]
    if unsound:
        raise TypeError(f"no sound value for {', '.join(unsound)}")
    return definition


def _numbers(definition: JobDefinition) -> Iterator[str]:
    """Name the fields that are no numbers, or so far out of bounds that nothing can be reckoned with them."""
    for name, read, lowest, highest in _NUMBERS:
        value = read(definition)
        if (type(value) is not int or not lowest <= value <= highest) and not (value is None and name in _OPTIONAL):
            yield name
    if type(definition.retry_jitter) not in {int, float} or not 0 <= definition.retry_jitter <= 1:
        yield "retry_jitter"


def _texts(definition: JobDefinition) -> Iterator[str]:
    for name, read in _TEXTS:
        value = read(definition)
        if not isinstance(value, str) and not (value is None and name in _OPTIONAL):
            yield name
    if not all(isinstance(tag, str) for tag in definition.tags):
        yield "tags"
    if not isinstance(definition.metadata, Mapping):
        yield "metadata"


def _instants(definition: JobDefinition) -> Iterator[str]:
    for name in ("start_date", "end_date"):
        value: datetime | None = getattr(definition, name)
        if value is not None and value.utcoffset() is None:
            yield name
