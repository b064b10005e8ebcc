"""Doing what a page says, from its first block to its last."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final

from deploy.local.ports import free_port
from tests.docs.pages import CHECKOUT, Step, is_printed, steps
from tests.docs.terminal import Terminal
from tests.end_to_end.waiting import DEADLINE_SECONDS

PORTS: Final = ("8080", "8081", "8082", "8083")

INSTALL_SECONDS: Final = 900.0

_LISTS: Final = {
    "EVENT_ID": "events list",
    "HANDLER_ID": "events handlers list",
    "FAILED_ID": "executions list --status failed",
    "EXECUTION_ID": "executions list",
    "JOB_ID": "jobs list",
    "WORKER_ID": "workers",
}
_PROGRAMS: Final = str(Path(sys.executable).parent)


@dataclass(slots=True, kw_only=True)
class Walk:
    """The terminals of a reader, and what stands for what on this machine."""

    folder: Path
    scratch: Path
    stands_for: dict[str, str]
    environment: dict[str, str]
    opened: ExitStack
    installs: bool = False
    terminals: dict[int, Terminal] = field(default_factory=dict)

    def set(self, name: str, value: str) -> None:
        """Give the terminals that are opened from now on a variable."""
        self.environment[name] = value

    async def through(self, page: Path) -> None:
        """Do everything that a page says; what it installs is there already, unless `installs` is set."""
        for step in steps(page):
            if self.installs or not step.block.installs:
                await self.take(step)

    async def take(self, step: Step) -> None:
        """Write a file, start a node, or run commands and look at what they print."""
        block = step.block
        if block.file is not None:
            (self.folder / block.file).write_text(self._here(block.text), "utf-8")
        elif block.goes_on:
            await self.terminal(block.terminal).leave_running(self._here(block.text))
        else:
            await self._until_printed(step)

    async def _until_printed(self, step: Step) -> None:
        output = await self._run(step)
        started = monotonic()
        while step.repeats and not is_printed(step.prints, output) and monotonic() < started + DEADLINE_SECONDS:
            output = await self._run(step)
        assert is_printed(step.prints, output), f"{step.block.text}is to print {step.prints}, but prints\n{output}"

    async def _run(self, step: Step) -> str:
        text = step.block.text
        for name in re.findall(r"\b[A-Z]+_ID\b", text):
            text = text.replace(name, await self._newest(_LISTS[name]))
        return await self.terminal(step.block.terminal).run(
            self._here(text),
            exit_code=step.block.exit_code,
            seconds=INSTALL_SECONDS if step.block.installs else DEADLINE_SECONDS,
        )

    async def _newest(self, listing: str) -> str:
        answer = json.loads(await self.terminal(0).run(f"tocsin {listing} --json"))
        items = answer["items"] if isinstance(answer, dict) else answer
        return str(items[0]["id"])

    def terminal(self, number: int) -> Terminal:
        """Give one of the reader's terminals, which is opened when it is first needed."""
        if number not in self.terminals:
            terminal = Terminal(self.folder, self.environment, scratch=self.scratch)
            self.terminals[number] = self.opened.enter_context(terminal)
        return self.terminals[number]

    def _here(self, text: str) -> str:
        for written, real in self.stands_for.items():
            text = text.replace(written, real)
        return text


@contextmanager
def a_reader(folder: Path, stands_for: Mapping[str, str] | None = None, *, path: str = "") -> Iterator[Walk]:
    """Give somebody an empty folder, ports, and a PATH with `tocsin` on it; what they start ends with the context."""
    home, scratch = folder / "home", folder / "scratch"
    home.mkdir()
    scratch.mkdir()
    ports = {port: str(free_port()) for port in PORTS}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("TOCSIN_", "OTEL_"))}
    environment = inherited | {
        "HOME": str(home),
        "PATH": os.pathsep.join(filter(None, [str(home / ".venv/bin"), _PROGRAMS, path, os.environ["PATH"]])),
        "COLUMNS": "140",
        "TOCSIN_PORT": ports["8080"],
        "TOCSIN_SERVER": f"http://127.0.0.1:{ports['8080']}",
    }
    with ExitStack() as opened:
        yield Walk(
            folder=home,
            scratch=scratch,
            stands_for={"~/tocsin": str(CHECKOUT), **(stands_for or {}), **ports},
            environment=environment,
            opened=opened,
        )
