"""Where the time of a process goes: what py-spy sees from outside, for speedscope.app to show, and in words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

PROFILE: Final = "BENCHMARK_PROFILE"
"""Names, in the environment, the folder of profiles."""

ATTACHED: Final = "Sampling process"
"""What py-spy says once it looks on."""

SHOWN: Final = 30
_NUMBERS: Final = count(1)
_PY_SPY: Final = (
    str(Path(sys.executable).with_name("py-spy")),
    *("record", "--format", "speedscope", "--rate", "400", "--duration", "86400", "--nonblocking"),
)

Times: TypeAlias = dict[str, float]
"""Seconds by the name of what took them."""


@contextmanager
def spying(pid: int, name: str) -> Iterator[None]:
    """Look at what a process does all the while, if profiles are asked for, waiting left out."""
    folder = os.environ.get(PROFILE)
    if folder is None:
        yield
        return
    out = Path(folder, f"{name}-{next(_NUMBERS)}.speedscope.json")
    said = out.with_suffix(".log")
    with said.open("wb") as log:
        spy = subprocess.Popen([*_PY_SPY, "--pid", str(pid), "--output", str(out)], stdout=log, stderr=log)  # noqa: S603 - a tool of this environment
    try:
        _await_attached(spy, said)
        yield
    finally:
        spy.send_signal(signal.SIGINT)
        spy.wait()
        said.unlink()
        if out.exists():
            out.with_suffix(".txt").write_text(summary(spied_times(json.loads(out.read_text("utf-8")))), "utf-8")


def _await_attached(spy: subprocess.Popen[bytes], said: Path) -> None:
    while ATTACHED not in (words := said.read_text("utf-8", errors="replace")):
        if spy.poll() is not None:
            raise RuntimeError(f"py-spy cannot look at the process: {words}")
        time.sleep(0.01)


def spied_times(scope: Mapping[str, Any]) -> Times:
    """Add up by function what each spent itself in a file of py-spy's, its samples being of equal weight."""
    frames = [f"{_short(frame.get('file') or 'builtin')}:{frame['name']}" for frame in scope["shared"]["frames"]]
    spent: Times = defaultdict(float)
    for profile in scope["profiles"]:
        for stack, seconds in zip(profile["samples"], profile["weights"], strict=True):
            if stack:
                spent[frames[stack[-1]]] += seconds
    return spent


def summary(spent: Times) -> str:
    """Word which packages and which functions took the time."""
    total = sum(spent.values()) or 1.0
    packages: Times = defaultdict(float)
    for name, seconds in spent.items():
        packages[_package(name)] += seconds
    lines = [f"{seconds / total:6.1%}  {name}" for name, seconds in _most(packages)]
    functions = [f"{seconds / total:6.1%}  {name}" for name, seconds in _most(spent)]
    return "\n".join([f"{total:.2f} s, by package", *lines, "", "by function", *functions, ""])


def _short(path: str) -> str:
    for root in ("site-packages/", "/tocsin/", "/src/", f"python{sys.version_info.major}.{sys.version_info.minor}/"):
        if root in path:
            return path.rpartition(root)[2]
    return path


def _most(spent: Times) -> list[tuple[str, float]]:
    return sorted(spent.items(), key=lambda each: -each[1])[:SHOWN]


def _package(name: str) -> str:
    path = name.rpartition(":")[0]
    folders = Path(path).parts
    return "/".join(folders[:2]) if folders[:1] in (("adapters",), ("application",), ("domain",)) else folders[0]
