"""The environments of the peers' programs: made by pip and npm under `build/peers`, anew when a version changes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol

CHECKOUT: Final = Path(__file__).parents[2]
PROGRAMS: Final = Path(__file__).parent / "programs"
MODULES: Final = "benchmarks.peers.programs"
FOLDER: Final = CHECKOUT / "build" / "peers"

_PIP: Final = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")
_NPM: Final = ("install", "--no-package-lock", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")


class Unavailable(Exception):
    """This machine cannot make the environment; the message says why."""


class Environment(Protocol):
    """Where a program finds what it imports."""

    def prepare(self) -> None:
        """
        Make the environment if it is not there.

        Raises:
            Unavailable: something is missing, or the installation failed.
        """

    def command(self, program: str) -> Sequence[str]:
        """Word how a program is started."""


@dataclass(frozen=True, slots=True)
class Own:
    """The environment of this process, in which Tocsin is installed."""

    def prepare(self) -> None:
        """Do nothing."""

    def command(self, program: str) -> Sequence[str]:
        """Run a module."""
        return [sys.executable, "-m", f"{MODULES}.{program}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """A virtual environment of this interpreter's version with these requirements."""

    name: str
    requirements: Sequence[str]

    @property
    def _folder(self) -> Path:
        return FOLDER / self.name

    def prepare(self) -> None:
        """Make it, and install by pip."""
        wanted = "\n".join((sys.version, *self.requirements))
        if _is_made(self._folder, wanted):
            return
        venv.create(self._folder, clear=True, with_pip=True)
        _install([str(self._folder / "bin" / "python"), *_PIP, *self.requirements], cwd=self._folder)
        _made(self._folder, wanted)

    def command(self, program: str) -> Sequence[str]:
        """Run a module."""
        return [str(self._folder / "bin" / "python"), "-m", f"{MODULES}.{program}"]


@dataclass(frozen=True, slots=True)
class Node:
    """
    What `package.json` names, all of it, and a Node of the version that the newest of the peers ask for.

    The system's Node only runs npm.
    """

    _folder: ClassVar = FOLDER / "node"
    _node: ClassVar = _folder / "node_modules" / ".bin" / "node"

    def prepare(self) -> None:
        """Install by npm, and copy the programs beside it: a module looks for packages around itself."""
        npm, manifest = shutil.which("npm"), Path(__file__).with_name("package.json")
        if npm is None:
            raise Unavailable("there is no npm")
        if not _is_made(self._folder, manifest.read_text("utf-8")):
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            shutil.copy(manifest, self._folder)
            _install([npm, *_NPM], cwd=self._folder)
            _made(self._folder, manifest.read_text("utf-8"))
        if not self._node.exists():
            raise Unavailable("npm has installed no Node for this machine")
        for program in PROGRAMS.glob("*.mjs"):
            shutil.copy(program, self._folder)

    def command(self, program: str) -> Sequence[str]:
        """Run a module."""
        return [str(self._node), str(self._folder / f"{program}.mjs")]


def _is_made(folder: Path, wanted: str) -> bool:
    made = folder / "made-of"
    return made.is_file() and made.read_text("utf-8") == wanted


def _made(folder: Path, wanted: str) -> None:
    (folder / "made-of").write_text(wanted, "utf-8")


def _install(command: Sequence[str], *, cwd: Path) -> None:
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603 - pip or npm
    if ended.returncode != 0:
        raise Unavailable(f"{Path(command[0]).name} failed: {ended.stderr.strip().splitlines()[-1:]}")
