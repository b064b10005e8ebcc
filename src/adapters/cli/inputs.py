"""What people type on a command line, read into values: each error names the field and what was expected."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from ...domain import strict_json
from ...domain.definition import FIELD_NAMES, INTEGER_BOUNDS
from ...domain.errors import FieldError, InvalidInput, InvalidJob
from ...domain.job import PRIORITY_NAMES, Backoff, HandlerType, JobType, MisfirePolicy, OverlapPolicy
from ...domain.json import Json
from .instants import read_instant
from .options import split_list

_ENUMS: Final[Mapping[str, type[Enum]]] = MappingProxyType(
    {
        "type": JobType,
        "handler_type": HandlerType,
        "overlap_policy": OverlapPolicy,
        "misfire_policy": MisfirePolicy,
        "backoff": Backoff,
    },
)
_CLEARABLE: Final = ("key", "description", "start_date", "end_date", "max_executions", "payload")

E = TypeVar("E", bound=Enum)


def read_text(source: str, field: str) -> str:
    """
    Read what `@FILE` names, `@-` being stdin; any other text is itself.

    Raises:
        InvalidInput: the file cannot be read, or is no UTF-8.
    """
    if not source.startswith("@"):
        return source
    try:
        return sys.stdin.read() if source == "@-" else Path(source[1:]).read_text("utf-8")
    except OSError as error:
        raise InvalidInput.of(field, f"cannot read {source[1:]}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInput.of(field, f"{source[1:]} is not UTF-8 text") from None


def read_json(source: str, field: str = "payload") -> Json:
    """
    Read JSON, or the JSON in `@FILE`.

    Raises:
        InvalidInput: it is none, or not as `domain.strict_json` has it.
    """
    text = read_text(source, field)
    try:
        return strict_json.read_json(text.encode("utf-8", "surrogateescape"))
    except ValueError as error:
        told = str(error).replace("is not JSON", "must be JSON, or @FILE with JSON", 1)
        raise InvalidInput.of(field, told) from None


def optional_json(source: str | None) -> Json:
    """Read a payload that may be left out."""
    return None if source is None else read_json(source)


def read_priority(text: str) -> int:
    """Read a priority: a number, or low, medium, high, critical."""
    return PRIORITY_NAMES[text] if text in PRIORITY_NAMES else _whole(text, "priority")


def read_settings(settings: Iterable[str]) -> dict[str, object]:
    """
    Read `field=value` pairs of a job's definition.

    Raises:
        InvalidJob: names each field that is unknown, named twice or cannot be read.
    """
    found: dict[str, object] = {}
    errors: list[FieldError] = []
    for setting in settings:
        name, equals, text = setting.partition("=")
        try:
            if not equals:
                raise InvalidInput.of(name, "expected FIELD=VALUE")
            if name in found:
                raise InvalidInput.of(name, "is named twice")
            found[name] = read_field(name, text)
        except InvalidInput as error:
            errors.extend(error.errors)
    if errors:
        raise InvalidJob(errors)
    return found


def read_field(name: str, text: str) -> object:
    """
    Read one field of a definition from text; lists are separated by commas, documents are JSON or `@FILE`.

    Raises:
        InvalidInput: the field is unknown, or the text is not of its kind.
    """
    if name not in FIELD_NAMES:
        raise InvalidInput.of(name, f"is not a field of a job; expected one of {', '.join(FIELD_NAMES)}")
    reader = _READERS.get(name)
    return reader(text, name) if reader else text


def cleared(names: Iterable[str]) -> dict[str, None]:
    """Read the names of fields to empty, or raise InvalidJob naming those that cannot be empty."""
    wanted = tuple(names)
    message = f"cannot be emptied; expected one of {', '.join(_CLEARABLE)}"
    errors = [FieldError(name, message) for name in wanted if name not in _CLEARABLE]
    if errors:
        raise InvalidJob(errors)
    return dict.fromkeys(wanted)


def _whole(text: str, field: str) -> int:
    try:
        return int(text)
    except ValueError:
        bounds = INTEGER_BOUNDS.get(field)
        between = f" between {bounds[0]} and {bounds[1]}" if bounds else ""
        raise InvalidInput.of(field, f"{text!r} is not a whole number{between}") from None


def _number(text: str, field: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput.of(field, f"{text!r} is not a number") from None


def _member(text: str, field: str) -> Enum:
    choices = [str(each.value) for each in _ENUMS[field]]
    if text not in choices:
        raise InvalidInput.of(field, f"{text!r} is none of {', '.join(choices)}")
    return _ENUMS[field](text)


_READERS: Final[Mapping[str, Callable[[str, str], object]]] = MappingProxyType(
    {
        **dict.fromkeys(INTEGER_BOUNDS, _whole),
        **dict.fromkeys(_ENUMS, _member),
        "priority": lambda text, _: read_priority(text),
        "retry_jitter": _number,
        "start_date": read_instant,
        "end_date": read_instant,
        "payload": read_json,
        "metadata": read_json,
        "tags": lambda text, _: split_list([text]) or (),
    },
)
