"""Frozen values at the price of plain ones: for what is made for every fire."""

from __future__ import annotations

from dataclasses import MISSING, field, fields, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")


def _swift(kind: Any) -> Any:  # noqa: ANN401 - any dataclass
    """
    Give a class that is called as a frozen, slotted dataclass without `__post_init__` is, and makes the same values.

    A frozen one sets each field through `object.__setattr__`, which is five times as slow. The class given is its twin
    that is not frozen: as the last step of its making a value becomes one of the frozen class, laid out alike.
    """

    def freeze(value: Any) -> None:  # noqa: ANN401 - of the twin
        value.__class__ = kind

    made = [(each.name, each.type, _field_like(each)) for each in fields(kind)]
    return make_dataclass(kind.__name__, made, slots=True, eq=False, repr=False, namespace={"__post_init__": freeze})


def _field_like(each: Any) -> Any:  # noqa: ANN401 - a field, of a type that dataclasses do not name
    given = {name: value for name in ("default", "default_factory") if (value := getattr(each, name)) is not MISSING}
    return field(**given, kw_only=each.kw_only)


if TYPE_CHECKING:

    def swift(kind: type[T]) -> type[T]:
        """Give a class that makes values of `kind` fast, as typed as `kind` itself."""
else:
    swift = cache(_swift)
