"""Frozen values with some fields changed, at a fraction of the price of `dataclasses.replace`: once per fire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from .swift import swift

T = TypeVar("T")


def altered(value: T, **changes: object) -> T:
    """Copy a value of a frozen, slotted dataclass of two fields or more, without `__post_init__`."""
    kind: Any = type(value)
    names, read = _fields_of(kind)
    copy: T = swift(kind)(**{**dict(zip(names, read(value), strict=True)), **changes})
    return copy


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:  # noqa: ANN401 - any dataclass
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names)
