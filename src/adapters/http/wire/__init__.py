"""The shapes that go over the wire: what validates a request, answers it and describes both in the document."""

from __future__ import annotations

from typing import Final

BASE: Final = "/api/v1"
"""Where the interface begins; what lies outside is for probes and for people."""
