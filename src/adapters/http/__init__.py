"""HTTP: the face that a node shows, and the client that speaks to it."""

from __future__ import annotations

from ...domain.errors import ServerUnreachable
from .app import create_app, create_probes
from .client import HttpScheduler
from .failures import UnexpectedAnswer
from .node import Node

__all__ = ["HttpScheduler", "Node", "ServerUnreachable", "UnexpectedAnswer", "create_app", "create_probes"]
