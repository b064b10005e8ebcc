"""Where the server is that a command speaks to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from ...domain.errors import InvalidInput

DEFAULT_SERVER: Final = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which server is meant, by its address or by the name of a profile; or neither."""

    server: str | None = None
    profile: str | None = None

    def __bool__(self) -> bool:
        """Whether one was named."""
        return bool(self.server or self.profile)

    def address(self) -> str:
        """
        Find the address: as named here, by the environment, by the profile in use, else the default.

        Raises:
            InvalidInput: both are named, there is no such profile, or what is found is no address.
        """
        if self.server and self.profile:
            raise InvalidInput.of("profile", "cannot go with --server; name one of the two")
        server = self.server or (None if self.profile else os.environ.get("TOCSIN_SERVER"))
        if not server:
            from .profiles import address_of  # noqa: PLC0415 - most commands read no file

            server = address_of(self.profile or os.environ.get("TOCSIN_PROFILE") or None)
        return checked(server or DEFAULT_SERVER)


def without_password(server: str) -> str:
    """Write an address for a screen: without who signs in there, and with what."""
    parts = urlsplit(server)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def checked(server: str) -> str:
    """
    Answer the address of a server as it is.

    Raises:
        InvalidInput: it is none.
    """
    expected = f"must be an http or https URL such as {DEFAULT_SERVER}"
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        raise InvalidInput.of("server", expected) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise InvalidInput.of("server", expected)
    return server
