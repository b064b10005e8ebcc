"""Jobs and event handlers in files: reading them with the line of each field, and writing them."""

from __future__ import annotations
