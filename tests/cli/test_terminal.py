from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from tocsin.adapters.cli import create_cli
from tocsin.adapters.cli.confirmation import confirm
from tocsin.adapters.cli.factories import NodeOptions
from tocsin.domain.errors import InvalidInput

from .conftest import CommandLine


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Make stdin a terminal; what is written to the descriptor is typed there."""
    keyboard, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keyboard
    os.close(keyboard)


def test_a_no_on_a_terminal_aborts(typed: int) -> None:
    os.write(typed, b"n\n")

    with pytest.raises(typer.Abort):
        confirm("End it?", yes=False)


def test_a_yes_on_a_terminal_goes_ahead(typed: int, capfd: pytest.CaptureFixture[str]) -> None:
    os.write(typed, b"y\n")
    confirm("End \x1b[2Jit?", yes=False)

    assert r"End \x1b[2Jit? [y/N]" in capfd.readouterr().err


@pytest.mark.usefixtures("typed")
def test_yes_as_an_option_asks_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    confirm("End it?", yes=True)

    assert capfd.readouterr().err == ""


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    with pytest.raises(InvalidInput, match=r"End \\x1b\[2Jit\? Give --yes"):
        confirm("End \x1b[2Jit?", yes=False)
    confirm("End it?", yes=True)


def test_ctrl_c_exits_with_130(tocsin: CommandLine) -> None:
    def interrupted(_: NodeOptions) -> int:
        raise KeyboardInterrupt

    app = create_cli(replace(tocsin.factories, serve=interrupted))

    assert CliRunner().invoke(app, ["serve"]).exit_code == 130


def test_a_pipe_gets_whole_lines_without_colour(tocsin: CommandLine) -> None:
    name = "a name that is " + "very " * 40 + "long"
    tocsin.create(name=name)
    listed = tocsin("jobs", "list", COLUMNS="40")

    assert name in listed.out
    assert "\x1b" not in listed.out
    assert not any(line != line.rstrip() for line in listed.out.splitlines())


def test_a_name_is_shown_as_it_is_and_never_obeyed(tocsin: CommandLine) -> None:
    tocsin.create(name="[red]:smile:\x1b[2J\u202e")
    listed = tocsin("jobs", "list")

    assert r"[red]:smile:\x1b[2J\u202e" in listed.out
