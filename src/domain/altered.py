"""Frozen values with some fields changed, at a fraction of the price of `dataclasses.replace`: once per fire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from .swift import placed

T = TypeVar("T")


def altered(value: T, **changes: object) -> T:
    """Copy a value of a frozen, slotted dataclass, without `__post_init__`; two fields or more stay as they are."""
    kind: Any = type(value)
    read, make = _copier(kind, *changes)
    copy: T = make(*read(value), *changes.values())
    return copy


@cache
def _copier(kind: Any, *changed: str) -> tuple[Callable[[Any], tuple[Any, ...]], Callable[..., Any]]:  # noqa: ANN401 - any dataclass
    kept = [field.name for field in fields(kind) if field.name not in changed]
    return attrgetter(*kept), placed(kind, *kept, *changed)
