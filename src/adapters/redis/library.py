"""
Redis-py, imported without figures of its own.

For these it imports OpenTelemetry's SDK, if that is there: two megabytes and a tenth of a second, for nobody here.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final

_SDK: Final = "opentelemetry.sdk.metrics"
_WITHOUT_SDK: Final = _SDK not in sys.modules
if _WITHOUT_SDK:
    sys.modules[_SDK] = ModuleType(_SDK)
import redis.asyncio  # noqa: E402  # After the line above.

if _WITHOUT_SDK:
    del sys.modules[_SDK]

__all__ = ["redis"]
