"""What a node says about itself: structured log lines, spans and figures."""

from __future__ import annotations

from .open_telemetry import OpenTelemetry, open_telemetry
from .structured_log import StructuredLog
from .timed import timed

__all__ = ["OpenTelemetry", "StructuredLog", "open_telemetry", "timed"]
