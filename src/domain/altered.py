"""Frozen values with some fields changed, at half the price of `dataclasses.replace`: for what runs once per fire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")


def altered(value: T, **changes: object) -> T:
    """Copy a value of a dataclass that has two fields or more, all of which it takes when it is made."""
    kind: Any = type(value)
    names, read = _fields_of(kind)
    copy: T = kind(**{**dict(zip(names, read(value), strict=True)), **changes})
    return copy


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:  # noqa: ANN401 - any dataclass
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names)
