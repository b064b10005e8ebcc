from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.end_to_end.program import Ended, environment_of, run, serving

SCRIPT = Path(sys.executable).with_name("tocsin")
"""A shell completes the program by the name that it was installed under."""


async def completed(folder: Path, words: str, *, instruction: str = "complete_fish") -> Ended:
    """Press the tab key in fish behind these words."""
    variables = {
        **environment_of(folder),
        "_TOCSIN_COMPLETE": instruction,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": words,
        "XDG_CONFIG_HOME": str(folder),
    }
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(SCRIPT, env=variables, cwd=folder, stdout=pipe, stderr=pipe)
    stdout, stderr = await process.communicate()
    return Ended(code=process.returncode or 0, stdout=stdout.decode(), stderr=stderr.decode())


def offered(ended: Ended) -> list[str]:
    return [line.partition("\t")[0] for line in ended.stdout.splitlines()]


async def test_words_of_a_running_node_are_offered(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        keyed = await program.scheduler.schedule_recurring(
            "Night backup", schedule="@daily", handler_name="record", key="backup"
        )
        plain = await program.scheduler.schedule_recurring("poll", schedule="every 30m", handler_name="record")
        spaced = await program.scheduler.schedule_recurring("two words", schedule="every 30m", handler_name="record")
        execution = await program.scheduler.trigger_job(plain.id)
        to = f"tocsin --server {program.url}"
        jobs = await completed(tmp_path, f"{to} jobs show ")
        begun = await completed(tmp_path, f"{to} jobs pause po")
        by_id = await completed(tmp_path, f"{to} jobs show {str(keyed.id)[:30]}")
        executions = await completed(tmp_path, f"{to} executions show ")
        workers = await completed(tmp_path, f"{to} workers drain ")

    assert set(offered(jobs)) == {"backup", "poll", str(spaced.id)}
    assert offered(begun) == ["poll"]
    assert str(keyed.id) in offered(by_id)
    assert offered(executions) == [str(execution.id)]
    assert len(offered(workers)) == 1


async def test_a_shell_is_offered_no_word_that_it_would_carry_out(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        hostile = await program.scheduler.schedule_recurring(
            "[/]", schedule="@daily", handler_name="record", key="$(touch${IFS}x)"
        )
        jobs = await completed(tmp_path, f"tocsin --server {program.url} jobs show ")
        begun = await completed(tmp_path, f"tocsin --server {program.url} jobs show $")

    assert (offered(jobs), jobs.stderr) == ([str(hostile.id)], "")
    assert "[/]" not in jobs.stdout
    assert begun.stdout.strip() == ""


async def test_nothing_is_offered_and_nothing_is_said_where_no_node_answers(tmp_path: Path) -> None:
    ended = await completed(tmp_path, "tocsin --server http://127.0.0.1:1 jobs show ")

    assert (ended.stdout.strip(), ended.stderr) == ("", "")


async def test_commands_and_zones_are_offered_without_a_node(tmp_path: Path) -> None:
    commands = await completed(tmp_path, "tocsin jobs cr")
    zones = await completed(tmp_path, "tocsin jobs create --timezone Europe/Berl")

    assert offered(commands) == ["create", "create-many"]
    assert offered(zones) == ["Europe/Berlin"]


async def test_profiles_are_offered(tmp_path: Path) -> None:
    await run(tmp_path, "profiles", "add", "staging", "https://x.org", environment={"XDG_CONFIG_HOME": str(tmp_path)})
    ended = await completed(tmp_path, "tocsin --profile st")

    assert offered(ended) == ["staging"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_shell_is_given_the_script_that_it_needs(tmp_path: Path, shell: str) -> None:
    ended = await completed(tmp_path, "", instruction=f"source_{shell}")

    assert ended.code == 0
    assert f"complete_{shell}" in ended.stdout
