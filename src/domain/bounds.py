"""What is wrong with a single value, told as faults of the field that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import cast

from .definition import check_text, kept_document
from .errors import FieldError, InvalidJob
from .json import Json


def faults_of_text(field: str, value: object, bounds: tuple[int, int]) -> Iterator[FieldError]:
    """Hold a value against a text's (shortest, longest) length in characters."""
    try:
        check_text(field, cast("str", value), bounds)
    except InvalidJob as error:
        yield from error.errors


def faults_of_number(field: str, value: object, bounds: tuple[int, int]) -> Iterator[FieldError]:
    """Hold a value against a whole number's (lowest, highest), both allowed; true is no number."""
    lowest, highest = bounds
    if type(value) is not int or not lowest <= value <= highest:
        yield FieldError(field, f"must be between {lowest} and {highest}")


def faults_of_choice(field: str, value: object, kind: type[Enum]) -> Iterator[FieldError]:
    """Hold a value against the members of an enum, or their values."""
    allowed = [str(member.value) for member in kind]
    if value not in allowed:
        yield FieldError(field, f"must be one of {', '.join(allowed)}")


def faults_of_flag(field: str, value: object) -> Iterator[FieldError]:
    """Hold a value against true and false."""
    if not isinstance(value, bool):
        yield FieldError(field, "must be true or false")


def faults_of_document(field: str, value: Json) -> Iterator[FieldError]:
    """Hold a value against what can be kept of a payload."""
    try:
        kept_document(field, value)
    except InvalidJob as error:
        yield from error.errors
