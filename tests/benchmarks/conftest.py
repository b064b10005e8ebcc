from __future__ import annotations

from importlib.util import find_spec

# What simulates is an extra: a wheel is tested without it.
collect_ignore_glob = [] if find_spec("simpy") else ["test_*.py"]
