"""What OpenTelemetry's SDK says of failing exports, as lines that stay readable."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ...domain.outage import Outage
from .structured_log import StructuredLog

SDK_LOGGER: Final = "opentelemetry"
REASON_LENGTH: Final = 1024


@contextmanager
def heard(telemetry: StructuredLog) -> Iterator[None]:
    """Take the place of all that listens to the SDK's logger, while exporters of ours are at work."""
    logger, listener = logging.getLogger(SDK_LOGGER), _Listener(telemetry)
    propagates = logger.propagate
    logger.addHandler(listener)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.propagate = propagates


class _Listener(logging.Handler):
    """Writes a line for the first complaint of its kind, and then for one each minute: the SDK has one a batch."""

    def __init__(self, telemetry: StructuredLog) -> None:
        super().__init__(logging.WARNING)
        self._telemetry = telemetry
        self._outage = Outage()

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of it, or only count it."""
        if self._outage.fail(f"{record.module} {record.levelname}", time.monotonic()):
            self._telemetry.warning(
                "telemetry.failing", reason=record.getMessage()[:REASON_LENGTH], failures=self._outage.failures
            )
