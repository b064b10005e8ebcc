"""The Telemetry port over structlog: one line per fact, for people or for machines."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TextIO

import structlog
from structlog.typing import Processor

_SECRETS: Final = ("password", "secret", "token", "authorization", "cookie", "api_key", "credential")
_MASK: Final = "***"


def _for_machines(_: TextIO) -> Sequence[Processor]:
    return structlog.processors.format_exc_info, structlog.processors.JSONRenderer()


def _for_people(output: TextIO) -> Sequence[Processor]:
    plain = structlog.dev.plain_traceback
    return (structlog.dev.ConsoleRenderer(colors=output.isatty(), exception_formatter=plain),)


_ENDINGS: Final = MappingProxyType({"json": _for_machines, "console": _for_people})


class StructuredLog:
    """Writes to one stream, standard error unless told otherwise; `form` is `console` or `json`."""

    def __init__(self, *, form: str = "console", level: str = "info", stream: TextIO | None = None) -> None:
        output = stream or sys.stderr
        ending = _ENDINGS[form](output)
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(output),
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                mask_secrets,
                *ending,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        )

    def debug(self, event: str, **fields: object) -> None:
        """Write a line of level debug."""
        self._log.debug(event, **fields)

    def info(self, event: str, **fields: object) -> None:
        """Write a line of level info."""
        self._log.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        """Write a line of level warning."""
        self._log.warning(event, **fields)

    def error(self, event: str, **fields: object) -> None:
        """Write a line of level error; `exc_info` adds a stack."""
        self._log.error(event, **fields)


def mask_secrets(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ANN401 - structlog's signature
    """Replace the values of fields whose names speak of secrets."""
    for name in event:
        if any(secret in name.lower() for secret in _SECRETS):
            event[name] = _MASK
    return event
