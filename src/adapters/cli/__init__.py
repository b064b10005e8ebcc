"""The command line."""

from __future__ import annotations

from .app import create_cli
from .factories import Factories

__all__ = ["Factories", "create_cli"]
