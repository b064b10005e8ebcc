"""Which fields hold secrets, told by their names."""

from __future__ import annotations

from typing import Final

MASK: Final = "***"
"""What is shown in place of a secret."""

_SECRETS: Final = (
    *("password", "passwd", "secret", "token", "authorization", "cookie", "credential"),
    *("api_key", "apikey", "private_key"),
)


def names_secret(name: str) -> bool:
    """Tell whether a field of this name likely holds a secret; `X-Api-Key` does, as `api_key` does."""
    return any(secret in name.lower().replace("-", "_") for secret in _SECRETS)
