"""Asking before something is ended that cannot be brought back."""

from __future__ import annotations

import sys

import typer

from .texts import visible


def confirm(question: str, *, yes: bool) -> None:
    """
    Ask on a terminal; a script, which has nobody to ask, and `yes` go ahead.

    Raises:
        typer.Abort: the answer was no.
    """
    if not yes and sys.stdin.isatty():
        typer.confirm(visible(question), abort=True, err=True)
