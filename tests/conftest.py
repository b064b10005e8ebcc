"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["tests.postgres_server", "tests.redis_server"]

# A loaded machine is slow, not wrong, so no example has a deadline.
settings.register_profile("tocsin", deadline=None)
settings.load_profile("tocsin")
