"""Expressions in CEL: quick ones are evaluated in place, those that may take long in a process of their own."""

from .expressions import CelExpressions, open_cel

__all__ = ["CelExpressions", "open_cel"]
