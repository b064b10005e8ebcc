"""How frozen dataclasses are written as documents, field by field, and read again with every type held against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, TypeAlias, TypeVar, cast
from uuid import UUID

from .json import Json

Written: TypeAlias = Any
"""Whatever stands in a document; a reader says what it takes."""

Reader: TypeAlias = Callable[[Written], Any]
"""
Makes the value of a field.

Raises:
    ValueError: the document has something else there; the message names the field within it.
"""

_Value = TypeVar("_Value")


def fields_of(value: Any, *, names: Mapping[type, str]) -> dict[str, Json]:  # noqa: ANN401 - any dataclass
    """Write every field, in their order; a dataclass among `names` is told by its `type`."""
    return {field.name: written(getattr(value, field.name), names=names) for field in fields(value)}


def written(value: Any, *, names: Mapping[type, str]) -> Json:  # noqa: ANN401 - the value of any field
    """Write a value: instants ISO 8601 in UTC, UUIDs as text, choices by their values, dataclasses as objects."""
    match value:
        case Enum():
            return cast("Json", value.value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case UUID():
            return str(value)
        case tuple():
            return [written(each, names=names) for each in value]
        case _ if is_dataclass(value):
            own = {"type": names[type(value)]} if type(value) in names else {}
            return {**own, **fields_of(value, names=names)}
        case _:
            return cast("Json", value)


def telling_fields_of(value: Any) -> dict[str, Json]:  # noqa: ANN401 - any dataclass
    """Write the fields that have another value than by default."""
    telling = (field.name for field in fields(value) if getattr(value, field.name) != field.default)
    return {name: written(getattr(value, name), names={}) for name in telling}


def one_of(kind: Callable[..., _Value], readers: Mapping[str, Reader]) -> Callable[[Written], _Value]:
    """Make what reads an object as a dataclass: defaults stand for missing fields, unknown ones are passed over."""
    required = [field.name for field in fields(cast("Any", kind)) if _is_required(field)]

    def read(written: Written) -> _Value:
        document = an_object(written)
        if missing := [name for name in required if name not in document]:
            raise ValueError(f"{missing[0]}: is missing")
        return kind(**{name: _field(name, document[name], readers[name]) for name in readers if name in document})

    return read


def _is_required(field: Any) -> bool:  # noqa: ANN401 - a Field, whose type is that of its value
    return field.default is MISSING and field.default_factory is MISSING


def _field(name: str, written: Written, read: Reader) -> Any:  # noqa: ANN401 - as the reader says
    try:
        return read(written)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _exactly(kind: type, name: str) -> Reader:
    """Make what takes a value of this very type; true is no number."""

    def read(written: Written) -> Any:  # noqa: ANN401 - of the kind
        if type(written) is not kind:
            raise ValueError(f"must be {name}, not {type(written).__name__}")
        return written

    return read


a_text: Final = _exactly(str, "a text")
a_whole_number: Final = _exactly(int, "a whole number")
a_flag: Final = _exactly(bool, "true or false")
_a_list: Final = _exactly(list, "a list")


def or_none(read: Reader) -> Reader:
    """Take null as well."""
    return lambda written: None if written is None else read(written)


def each(read: Reader) -> Reader:
    """Take a list of these, as a tuple."""
    return lambda written: tuple(read(item) for item in _a_list(written))


def an_object(written: Written) -> Mapping[str, Any]:
    """Take an object, as it is."""
    if not isinstance(written, Mapping):
        raise ValueError(f"must be an object, not {type(written).__name__}")  # noqa: TRY004 - readers raise one error
    return written


def anything(written: Written) -> Any:  # noqa: ANN401 - any JSON
    """Take any JSON, as it is."""
    return written


def an_id(written: Written) -> UUID:
    """Take a UUID in text."""
    return UUID(a_text(written))


def an_instant(written: Written) -> datetime:
    """Take an instant in ISO 8601, with its UTC offset."""
    instant = datetime.fromisoformat(a_text(written))
    if instant.utcoffset() is None:
        raise ValueError("has no UTC offset")
    return instant
