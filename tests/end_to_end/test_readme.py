from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import ClientSession

from tests.end_to_end.program import environment_of, finished, run, serving

README: Final = Path(__file__).parents[2] / "README.md"

pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")


def blocks(language: str) -> list[str]:
    """List the code blocks of the README in that language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


def shell_lines() -> list[str]:
    """List the commands of the README; one in quotes or before a backslash goes on in the next line."""
    joined = re.sub(r"\\\n|(?<=[{,])\n", " ", "".join(blocks("sh")))
    return [line.strip() for line in joined.splitlines()]


async def test_the_example_in_process_works_as_pasted(tmp_path: Path) -> None:
    (example,) = blocks("python")
    (tmp_path / "example.py").write_text(example, "utf-8")

    ended = await finished(
        subprocess.Popen(  # noqa: ASYNC220 - the README's own code
            [sys.executable, "example.py"],
            cwd=tmp_path,
            env=environment_of(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    )

    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert 2 <= len(lines) <= 4
    assert any(re.search(r"success hello from \d\d:\d\d:\d\d$", line) for line in lines)


async def test_the_commands_and_the_request_work_as_pasted(tmp_path: Path) -> None:
    commands = [shlex.split(line)[1:] for line in shell_lines() if line.startswith(".venv/bin/tocsin ")]
    assert ["jobs", "create"] in [command[:2] for command in commands]

    async with serving(tmp_path, "--roles", "api") as program:
        server = {"TOCSIN_SERVER": program.url}
        ended = await asyncio.gather(*(run(tmp_path, *command, environment=server) for command in commands))
        status, asked, made = await pasted_request(program.url)
        names = {job.definition.name for job in (await program.scheduler.list_jobs()).items}
        handlers = {each.definition.event for each in (await program.scheduler.list_event_handlers()).items}
        events = {each.name for each in (await program.scheduler.list_events()).items}

    assert [(each.code, each.stderr) for each in ended] == [(0, "")] * len(commands)
    assert status == 201
    assert asked.items() <= made.items()
    assert names == {"Nightly report", asked["name"], "on order.*"}
    assert (handlers, events) == ({"order.*"}, {"order.created"})


async def pasted_request(url: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Send what the README has curl send; answer the status, what was asked for and what was made."""
    (example,) = (line for line in shell_lines() if line.startswith("curl "))
    _, _, address, *options = shlex.split(example)
    body = options[options.index("-d") + 1]
    name, _, value = options[options.index("-H") + 1].partition(": ")
    async with (
        ClientSession() as session,
        session.post(address.replace("localhost:8080", url), data=body, headers={name: value}) as response,
    ):
        return response.status, json.loads(body), await response.json()
