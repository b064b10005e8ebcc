"""Frozen values at the price of plain ones: for what is made for every fire."""

from __future__ import annotations

from collections.abc import Callable
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
    return _twin(kind, [(each.name, each.type, _field_like(each)) for each in fields(kind)])


def _placed(kind: Any, *names: str) -> Any:  # noqa: ANN401 - any dataclass
    """
    Give a class as `swift` does that takes these fields by their places, and leaves the others at their defaults.

    To hand a field over by its name costs about twice as much as to set it.
    """
    others = {each.name: each for each in fields(kind)}
    if unknown := [name for name in names if others.pop(name, None) is None]:
        raise TypeError(f"{kind.__name__} has no {', '.join(unknown)}")
    if missing := [name for name, each in others.items() if not _default_of(each)]:
        raise TypeError(f"{kind.__name__} is missing {', '.join(missing)}")
    kept = [(name, each.type, field(init=False, **_default_of(each))) for name, each in others.items()]
    return _twin(kind, [*names, *kept])


def _twin(kind: Any, made: list[Any]) -> Any:  # noqa: ANN401 - any dataclass
    def freeze(value: Any) -> None:  # noqa: ANN401 - of the twin
        value.__class__ = kind

    return make_dataclass(kind.__name__, made, slots=True, eq=False, repr=False, namespace={"__post_init__": freeze})


def _field_like(each: Any) -> Any:  # noqa: ANN401 - a field, of a type that dataclasses do not name
    return field(**_default_of(each), kw_only=each.kw_only)


def _default_of(each: Any) -> dict[str, Any]:  # noqa: ANN401 - a field, of a type that dataclasses do not name
    return {name: value for name in ("default", "default_factory") if (value := getattr(each, name)) is not MISSING}


if TYPE_CHECKING:

    def swift(kind: type[T]) -> type[T]:
        """Give a class that makes values of `kind` fast, as typed as `kind` itself."""

    def placed(kind: type[T], *names: str) -> Callable[..., T]:
        """Give what makes values of `kind` fastest, from fields by their places."""
else:
    swift = cache(_swift)
    placed = cache(_placed)
