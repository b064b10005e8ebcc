"""What is shown anew again and again, on a terminal, against a real node."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer

from tests.cli.terminal import on_terminal
from tests.end_to_end.program import run, serving
from tests.http.nodes import node_in_memory
from tocsin.adapters.http import create_app
from tocsin.application.health import HealthCheck
from tocsin.application.loop import Pulse


async def test_top_shows_what_runs_and_what_is_due_until_q_is_pressed(tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    async with serving(tmp_path) as program:
        long = await program.scheduler.schedule_recurring("long one", schedule="every 30m", handler_name="hold")
        await program.scheduler.trigger_job(long.id)
        async with on_terminal(tmp_path, "--server", program.url, "top", "--every", "0.5") as terminal:
            shown = await terminal.shows("running: 1", "long one", "slots in use", "last hour", "live", "in 29 min")
            terminal.press("q")
            code = await terminal.ended()
        (tmp_path / "hold").unlink()

    assert code == 0
    assert "healthy" in shown
    assert "Traceback" not in shown


async def test_top_is_held_still_by_p_and_goes_on_with_it(tmp_path: Path) -> None:
    async with (
        serving(tmp_path) as program,
        on_terminal(tmp_path, "--server", program.url, "top", "--every", "0.5") as terminal,
    ):
        await terminal.shows("p holds it still")
        terminal.press("p")
        await terminal.shows("p goes on (held still)")
        await program.scheduler.schedule_recurring("made meanwhile", schedule="every 30m", handler_name="record")
        terminal.press("p")
        await terminal.shows("made meanwhile")
        terminal.press("q")

        assert await terminal.ended() == 0


async def test_top_waits_for_a_node_that_is_away(tmp_path: Path) -> None:
    async with on_terminal(tmp_path, "--server", "http://127.0.0.1:1", "top", "--every", "0.5") as terminal:
        await terminal.shows("nothing listens there")
        terminal.press("q")

        assert await terminal.ended() == 0


async def test_a_list_is_shown_anew_until_ctrl_c(tmp_path: Path) -> None:
    async with (
        serving(tmp_path) as program,
        on_terminal(tmp_path, "--server", program.url, "jobs", "list", "--watch") as terminal,
    ):
        await terminal.shows("no jobs", "Ctrl-C ends it")
        await program.scheduler.schedule_recurring("a new one", schedule="every 30m", handler_name="record")
        await terminal.shows("a new one")
        terminal.interrupt()

        assert await terminal.ended() == 130


@pytest.mark.parametrize("command", [("top",), ("jobs", "list", "--watch"), ("workers", "--watch", "--json")])
async def test_what_needs_a_terminal_says_so_to_a_pipe(tmp_path: Path, command: tuple[str, ...]) -> None:
    ended = await run(tmp_path, *command)

    assert (ended.code, ended.stdout) == (2, "")
    assert "needs a terminal" in ended.stderr


async def test_a_bar_shows_how_far_long_work_is_where_somebody_looks_on_and_a_pipe_hears_nothing(
    tmp_path: Path,
) -> None:
    crontab = tmp_path / "crontab"
    crontab.write_text("".join(f"0 2 * * * job {number}\n" for number in range(50)), "utf-8")
    async with serving(tmp_path, "--allow-commands") as program:
        command = ("--server", program.url, "import", "crontab", str(crontab))
        async with on_terminal(tmp_path, *command) as terminal:
            await terminal.shows("carrying over", "/50", "50 new")
            code = await terminal.ended()
        piped = await run(tmp_path, *command)

    assert code == 0
    assert piped.stderr == ""


async def test_colours_are_for_terminals_and_for_who_wants_them(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        await program.scheduler.schedule_recurring("x", schedule="every 30m", handler_name="record")
        command = ("--server", program.url, "jobs", "list")
        async with on_terminal(tmp_path, *command) as coloured:
            await coloured.shows("active")
            await coloured.ended()
        async with on_terminal(tmp_path, *command, variables={"NO_COLOR": "1"}) as plain:
            await plain.shows("active")
            await plain.ended()

    assert b"\x1b[32mactive" in coloured.shown
    assert b"\x1b[32m" not in plain.shown


async def test_a_narrow_terminal_is_shown_names_before_ids(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        job = await program.scheduler.schedule_recurring(
            "a name of some words", schedule="every 30m", handler_name="record"
        )
        command = ("--server", program.url, "jobs", "list")
        async with on_terminal(tmp_path, *command, columns=80) as narrow:
            shown = await narrow.shows("a name of some words", "every 30m", "outcomes")
            await narrow.ended()
        async with on_terminal(tmp_path, *command, columns=160) as wide:
            await wide.shows("a name of some words", str(job.id), "failures")
            await wide.ended()

    assert str(job.id) not in shown


async def test_the_screen_shows_an_address_without_who_signs_in(tmp_path: Path) -> None:
    server = "http://me:secret@127.0.0.1:1"
    async with on_terminal(tmp_path, "--server", server, "top", "--every", "0.5") as terminal:
        shown = await terminal.shows("tocsin http://127.0.0.1:1", "nothing listens there")
        terminal.press("q")
        await terminal.ended()

    assert "secret" not in shown


async def test_an_unhealthy_node_is_watched_on(tmp_path: Path) -> None:
    async with node_in_memory() as node, TestServer(create_app(node.face())) as server:
        address, health = str(server.make_url("/")), node.scheduler.health
        assert isinstance(health, HealthCheck)
        health.pulses = [Pulse(name="timer", beat_at=node.clock.monotonic())]
        node.clock.advance(3600)
        async with on_terminal(tmp_path, "--server", address, "health", "--watch") as terminal:
            await terminal.shows("unhealthy", "Ctrl-C ends it")
            health.pulses = [Pulse(name="sweeper", beat_at=node.clock.monotonic(), error="one row is poison")]
            await terminal.shows("one row is poison")
            terminal.interrupt()

            assert await terminal.ended() == 130
