"""
Servers under names of one's own, in a TOML file of the user: which there are, and which one is in use.

    current = "staging"

    [profiles.staging]
    server = "https://tocsin.staging.example"

A password has no place in it: an address may name variables, such as https://me:${STAGING_PASSWORD}@tocsin.example,
which are read from the environment when it is used.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from ...domain.errors import InvalidInput

FILE: Final = "profiles.toml"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """Addresses by name, and the name of the one in use."""

    servers: Mapping[str, str] = field(default_factory=dict)
    current: str | None = None

    def with_server(self, name: str, server: str) -> Profiles:
        """
        Add a profile or give it another address.

        Raises:
            InvalidInput: the name is none, or the address holds a password in clear.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput.of("name", "must be 1 to 64 letters, digits, dots, dashes or underscores")
        password = urlsplit(server).password
        if password and not _VARIABLE.fullmatch(password):
            raise InvalidInput.of(
                "server", "holds a password in clear; name a variable instead, such as https://me:${PASSWORD}@host"
            )
        return replace(self, servers={**self.servers, name: server})

    def using(self, name: str | None) -> Profiles:
        """Use a profile from now on; None uses none. Errors as for `server`."""
        if name is not None:
            self.server(name)
        return replace(self, current=name)

    def without(self, name: str) -> Profiles:
        """Remove a profile. Errors as for `server`."""
        self.server(name)
        servers = {each: server for each, server in self.servers.items() if each != name}
        return Profiles(servers=servers, current=None if self.current == name else self.current)

    def server(self, name: str) -> str:
        """
        Read the address of a profile, as it was written down.

        Raises:
            InvalidInput: there is no such profile.
        """
        if name not in self.servers:
            known = ", ".join(sorted(self.servers)) or "none; `tocsin profiles add NAME URL` makes one"
            raise InvalidInput.of("profile", f"there is no profile {name!r} (known: {known})")
        return self.servers[name]


def path() -> Path:
    """Tell where the file is: in $XDG_CONFIG_HOME/tocsin, or where the system keeps what a user configures."""
    if given := os.environ.get("XDG_CONFIG_HOME"):
        return Path(given) / "tocsin" / FILE
    folder = ("Library", "Application Support") if sys.platform == "darwin" else (".config",)
    return Path.home().joinpath(*folder, "tocsin", FILE)


def load() -> Profiles:
    """
    Read the profiles; without a file there are none.

    Raises:
        InvalidInput: the file cannot be read.
    """
    try:
        file = path()
    except RuntimeError:
        return Profiles()
    try:
        told = tomllib.loads(file.read_text("utf-8"))
        servers = {str(name): str(profile["server"]) for name, profile in told.get("profiles", {}).items()}
    except (FileNotFoundError, NotADirectoryError):
        return Profiles()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput.of("profiles", f"cannot read {file}: {_words(error)}; mend or remove it") from error
    return Profiles(servers=servers, current=told.get("current") or None)


def save(profiles: Profiles) -> None:
    """
    Write the profiles, whole or not at all, for the eyes of their owner.

    Raises:
        InvalidInput: the file cannot be written.
    """
    file = path()
    draft = file.with_suffix(".new")
    lines = [] if profiles.current is None else [f"current = {_quoted(profiles.current)}", ""]
    for name, server in sorted(profiles.servers.items()):
        lines += [f"[profiles.{_quoted(name)}]", f"server = {_quoted(server)}", ""]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600)
        draft.write_text("\n".join(lines), "utf-8")
        draft.replace(file)
    except OSError as error:
        raise InvalidInput.of("profiles", f"cannot write {file}: {error.strerror}") from error


def address_of(name: str | None) -> str | None:
    """
    Give the address of a profile, or of the one in use; None if none is.

    Raises:
        InvalidInput: there is no such profile, or a variable that its address names is not set.
    """
    if name is None and not _may_be_there():
        return None
    profiles = load()
    chosen = name or profiles.current
    return None if chosen is None else _VARIABLE.sub(_value, profiles.server(chosen))


def _may_be_there() -> bool:
    """Tell whether there is a file that somebody has to read: none is where this user may not even look."""
    try:
        return path().exists()
    except (OSError, RuntimeError):
        return False


def _value(variable: re.Match[str]) -> str:
    value = os.environ.get(variable[1])
    if value is None:
        raise InvalidInput.of("profile", f"its address names the variable {variable[1]}, which is not set")
    return quote(value, safe="")


def _quoted(text: str) -> str:
    # What JSON escapes of a text, TOML reads alike.
    return json.dumps(text, ensure_ascii=False)


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, ValueError) else "a profile is a table with a server"
