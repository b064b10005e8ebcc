"""What a node says about itself: structured log lines."""

from __future__ import annotations

from .structured_log import StructuredLog

__all__ = ["StructuredLog"]
