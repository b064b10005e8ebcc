"""Asking before something is ended that cannot be brought back."""

from __future__ import annotations

import sys

import typer

from ...domain.errors import InvalidInput
from .texts import visible


def confirm(question: str, *, yes: bool) -> None:
    """
    Ask on a terminal; `yes` goes ahead without.

    Raises:
        typer.Abort: the answer was no.
        InvalidInput: nobody can be asked, because stdin is no terminal.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput.of("yes", f"stdin is no terminal to ask on: {visible(question)} Give --yes if so")
    typer.confirm(visible(question), abort=True, err=True)
