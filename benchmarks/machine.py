"""What figures were measured on, and with which versions."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil

PACKAGES: Final = ("tocsin", "aiohttp", "asyncpg", "redis", "uvloop")


def described() -> dict[str, Any]:
    """Describe this machine, as JSON."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    with Path("/proc/cpuinfo").open("r", encoding="utf-8") as lines:
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
