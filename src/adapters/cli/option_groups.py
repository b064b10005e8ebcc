"""Options that go together as one dataclass: a command takes the group, and Typer is shown each option."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

parameter = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)


def parts(own: inspect.Parameter, hint: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401 - a type, or Annotated
    """Take a group apart into its options; any other option is itself."""
    if not is_dataclass(hint):
        yield parameter(own.name, annotation=hint, default=own.default)
        return
    hints = get_type_hints(hint, include_extras=True)
    for each in fields(hint):
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        yield parameter(each.name, annotation=hints[each.name], default=default)


def groups_of(command: Callable[..., Any]) -> Mapping[str, type[DataclassInstance]]:
    """Find the parameters of a command, less the session, that stand for several options: they are dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    _, *own = inspect.signature(command).parameters
    return {name: hints[name] for name in own if is_dataclass(hints[name])}


def gathered(groups: Mapping[str, type[DataclassInstance]], options: Mapping[str, Any]) -> dict[str, Any]:
    """Put the options of each group together again."""
    left = dict(options)
    whole = {name: kind(**{each.name: left.pop(each.name) for each in fields(kind)}) for name, kind in groups.items()}
    return left | whole
