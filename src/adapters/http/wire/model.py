"""What every shape shares, and how a refused one is told in Tocsin's words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ....domain.errors import FieldError, InvalidInput, InvalidJob
from ....domain.json import Json
from ....ports.batches import place_of_job

_WORDS: Final = MappingProxyType(
    {
        "missing": "is required",
        "extra_forbidden": "is not a known field",
        "model_type": "must be a JSON object",
        "dict_type": "must be a JSON object",
        "list_type": "must be a list",
        "tuple_type": "must be a list",
        "string_type": "must be a string",
        "string_unicode": "must not contain lone surrogate characters",
        "int_type": "must be a whole number",
        "float_type": "must be a number",
        "bool_type": "must be true or false",
        "finite_number": "must be a finite number",
        "uuid_type": "must be a UUID",
        "uuid_parsing": "must be a UUID",
        "greater_than_equal": "must be {ge} or more",
        "less_than_equal": "must be {le} or less",
        "string_too_short": "must have at least {min_length} characters",
        "string_too_long": "must have at most {max_length} characters",
        "too_short": "must have at least {min_length} {units}",
        "too_long": "must have at most {max_length} {units}",
        "union_tag_invalid": "must be one of {expected_tags}",
        "union_tag_not_found": "is required",
        "enum": "must be one of {expected}",
    },
)


class Input(BaseModel):
    """What a caller sends: no unknown fields, which would be typing errors. `refusal` is what a bad one raises."""

    # Its validator is built when it first reads something: most nodes serve few of the shapes.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    refusal: ClassVar[type[InvalidInput]] = InvalidJob
    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType({})


class Nothing(Input):
    """No fields at all."""


class Output(BaseModel):
    """What Tocsin answers; a client ignores fields that a newer server added."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True, defer_build=True)


AnyInput = TypeVar("AnyInput", bound=Input)


def parse(model: type[AnyInput], value: object) -> AnyInput:
    """
    Read what a caller sent.

    Raises:
        InvalidInput: the model's own `refusal`; names each field at fault.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        # The cause would carry the input, secrets included, into logs.
        raise model.refusal(field_errors(error.errors(include_url=False))) from None


def misplaced(field: str, message: str) -> PydanticCustomError:
    """Word a rule over several fields as an error of one of them."""
    return PydanticCustomError("misplaced", "{message}", {"field": field, "message": message})


def field_errors(details: Iterable[ErrorDetails]) -> list[FieldError]:
    """Turn what pydantic found into fields, as dotted paths, and what is wrong with them."""
    every = list(details)
    within = {detail["loc"][:length] for detail in every for length in range(len(detail["loc"]))}
    # Entries that are at fault themselves do not count, so that a list of them is said to be too short as well.
    told = (detail for detail in every if detail["type"] != "too_short" or detail["loc"] not in within)
    return [FieldError(_path(detail), _message(detail)) for detail in told]


def _path(detail: ErrorDetails) -> str:
    named = _context(detail).get("field")
    place = _place(detail)
    of_job = place[:1] == ("jobs",) and len(place) > 1
    field = str(named) if named else ".".join(map(str, place[2:] if of_job else place))
    # An unknown field may be called anything, and what it is called goes into the answer.
    path = (place_of_job(place[1], field) if of_job else field)[:255]
    return path.encode("utf-8", "replace").decode() or "body"


def _place(detail: ErrorDetails) -> tuple[int | str, ...]:
    """Give the place of an error in what was sent; pydantic names the chosen member of a union in between."""
    place = detail["loc"]
    if detail["type"].startswith("union_tag"):
        return *place, "type"
    return (*place[:1], *place[2:]) if place[:1] == ("action",) else place


def _message(detail: ErrorDetails) -> str:
    if words := _WORDS.get(detail["type"]):
        # Of a text that was looked at otherwise first, pydantic says as little as of any other value.
        units = "characters" if _context(detail).get("field_type") == "Value" else "entries"
        return words.format(**{"units": units, **_context(detail)})
    return re.sub(r"^\w+ should ", "must ", detail["msg"].removeprefix("Value error, "))


def _context(detail: ErrorDetails) -> Mapping[str, object]:
    return detail.get("ctx", {})
