from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from tocsin.adapters.cli.profiles import FILE

from .conftest import SERVER, CommandLine

STAGING = "https://tocsin.staging.example"


@pytest.fixture
def staging(tocsin: CommandLine) -> CommandLine:
    tocsin("profiles", "add", "staging", STAGING)
    return tocsin


def file_of(tocsin: CommandLine) -> Path:
    return tocsin.home / "tocsin" / FILE


def asked(tocsin: CommandLine, *arguments: str, **environment: str) -> str:
    """Ask for health, and answer which server was asked."""
    ended = tocsin(*arguments, **environment)
    assert ended.code == 0, ended.err
    return tocsin.servers.pop()


def test_a_profile_is_asked_where_it_is_named(staging: CommandLine) -> None:
    assert asked(staging, "health") == SERVER
    assert asked(staging, "--profile", "staging", "health") == STAGING
    assert asked(staging, "health", "--profile", "staging") == STAGING
    assert asked(staging, "health", TOCSIN_PROFILE="staging") == STAGING


def test_a_profile_in_use_is_asked_wherever_no_other_server_is_named(staging: CommandLine) -> None:
    staging("profiles", "use", "staging")

    assert asked(staging, "health") == STAGING
    assert asked(staging, "health", TOCSIN_SERVER="http://one:1") == "http://one:1"
    assert asked(staging, "--server", "http://two:2", "health") == "http://two:2"
    staging("profiles", "use", "--none")
    assert asked(staging, "health") == SERVER


def test_what_stands_nearest_to_the_command_holds(staging: CommandLine) -> None:
    assert asked(staging, "--profile", "staging", "health", "--server", "http://two:2") == "http://two:2"
    assert asked(staging, "--server", "http://two:2", "health", "--profile", "staging") == STAGING
    assert asked(staging, "health", "--profile", "staging", TOCSIN_SERVER="http://one:1") == STAGING
    assert asked(staging, "workers", "--profile", "staging") == STAGING


def test_profiles_are_listed_with_the_one_in_use_marked(staging: CommandLine) -> None:
    staging("profiles", "add", "production", "https://tocsin.example", "--use")
    listed = staging("profiles", "list")

    assert [line.split() for line in listed.out.splitlines()[1:]] == [
        ["*", "production", "https://tocsin.example"],
        ["staging", STAGING],
    ]
    assert staging("profiles", "list", "-o", "ids").out.split() == ["production", "staging"]


def test_a_profile_that_is_removed_is_not_in_use_any_more(staging: CommandLine) -> None:
    staging("profiles", "use", "staging")
    staging("profiles", "remove", "staging")

    assert asked(staging, "health") == SERVER
    assert staging("profiles", "list").out == "no profiles; `tocsin profiles add NAME URL` makes one\n"


def test_the_file_is_toml_that_its_owner_alone_can_read(staging: CommandLine) -> None:
    staging("profiles", "use", "staging")
    file = file_of(staging)

    written = tomllib.loads(file.read_text("utf-8"))
    assert written == {"current": "staging", "profiles": {"staging": {"server": STAGING}}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == [FILE]


def test_a_password_in_clear_is_not_written_down(tocsin: CommandLine) -> None:
    ended = tocsin("profiles", "add", "staging", "https://me:hunter2@tocsin.example")

    assert ended.code == 2
    assert "name a variable instead, such as https://me:${PASSWORD}@host" in ended.err
    assert "hunter2" not in ended.err
    assert not file_of(tocsin).exists()


def test_a_password_comes_from_the_environment(tocsin: CommandLine) -> None:
    tocsin("profiles", "add", "staging", "https://me:${STAGING_LOGIN}@tocsin.example", "--use")
    missing = tocsin("health")

    assert asked(tocsin, "health", STAGING_LOGIN="a/b") == "https://me:a%2Fb@tocsin.example"
    assert missing.code == 2
    assert "names the variable STAGING_LOGIN, which is not set" in missing.err


@pytest.mark.parametrize("arguments", [("--profile", "stagging", "health"), ("profiles", "use", "stagging")])
def test_a_profile_that_is_none_is_told_with_those_that_are(staging: CommandLine, arguments: tuple[str, ...]) -> None:
    ended = staging(*arguments)

    assert ended.code == 2
    assert "there is no profile 'stagging' (known: staging)" in ended.err


def test_a_server_and_a_profile_in_one_breath_are_refused(staging: CommandLine) -> None:
    ended = staging("health", "--server", SERVER, "--profile", "staging")

    assert ended.code == 2
    assert "cannot go with --server" in ended.err


@pytest.mark.parametrize(
    ("name", "server"), [("", STAGING), ("a b", STAGING), ("-x", STAGING), ("x", "tocsin.example"), ("x", "ftp://x")]
)
def test_what_is_no_profile_is_not_added(tocsin: CommandLine, name: str, server: str) -> None:
    assert tocsin("profiles", "add", "--", name, server).code == 2


@pytest.mark.parametrize("text", ["current = ", "profiles = 7", "[profiles]\nx = 7", "[profiles.x]\nurl = 'y'", "\xff"])
def test_a_file_that_cannot_be_read_is_told_by_its_name(tocsin: CommandLine, text: str) -> None:
    file_of(tocsin).parent.mkdir(parents=True)
    file_of(tocsin).write_bytes(text.encode("latin-1"))
    ended = tocsin("health")

    assert ended.code == 2
    assert f"cannot read {file_of(tocsin)}: " in ended.err
    assert "Traceback" not in ended.err


def test_a_home_that_holds_no_file_holds_no_profiles(tocsin: CommandLine) -> None:
    nowhere = {"XDG_CONFIG_HOME": "/dev/null"}

    assert asked(tocsin, "health", **nowhere) == SERVER
    assert "there is no profile 'staging'" in tocsin("health", "--profile", "staging", **nowhere).err


def test_a_home_that_cannot_be_looked_into_matters_to_who_names_a_profile_alone(
    tocsin: CommandLine, tmp_path: Path
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    assert asked(tocsin, "health", XDG_CONFIG_HOME=str(loop)) == SERVER
    assert "cannot read" in tocsin("health", "--profile", "staging", XDG_CONFIG_HOME=str(loop)).err


def test_the_profile_in_use_is_told_to_be_so_when_it_gets_another_address(staging: CommandLine) -> None:
    staging("profiles", "use", "staging")

    assert staging("profiles", "add", "staging", "https://other.example", "--json").json["current"] is True
