"""Importing the modules that register handlers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from ...domain.errors import InvalidInput


def load_modules(names: Iterable[str]) -> None:
    """
    Import modules by their dotted names, found as from a program in the working directory.

    Raises:
        InvalidInput: a module is missing, or raised while it was imported; `handlers` is the field.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    for name in names:
        _load(name)


def _load(name: str) -> None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise InvalidInput.of("handlers", f"{name!r} is not the dotted name of a module")
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:  # The module is the user's: it may raise anything.
        raise InvalidInput.of("handlers", f"cannot import {name}: {type(error).__name__}: {error}") from error
