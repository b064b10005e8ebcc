from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tocsin.adapters.cli.factories import NodeOptions
from tocsin.application.loop import Pulse
from tocsin.application.scheduler import Scheduler
from tocsin.domain.errors import StoreUnavailable

from .conftest import SERVER, CommandLine


def test_a_healthy_node_exits_with_0(tocsin: CommandLine) -> None:
    tocsin.beat()
    ended = tocsin("health", "--json")

    assert (ended.code, ended.json["status"]) == (0, "healthy")


def test_an_unhealthy_node_exits_with_1(tocsin: CommandLine) -> None:
    tocsin.pulses = [Pulse(name="timer", beat_at=tocsin.clock.monotonic())]
    tocsin.clock.advance(3600)
    ended = tocsin("health")

    assert ended.code == 1
    assert "no round completed for 3600 s" in ended.out


def test_a_degraded_node_exits_with_0(tocsin: CommandLine) -> None:
    tocsin.beat()
    tocsin.pulses = [Pulse(name="timer", beat_at=tocsin.clock.monotonic(), error="one row is poison")]
    ended = tocsin("health", "--json")

    assert (ended.code, ended.json["status"], ended.json["issues"]) == (0, "degraded", ["timer: one row is poison"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("health",),
        ("workers",),
        ("metrics",),
        ("jobs", "list"),
        ("jobs", "show", "x"),
        ("jobs", "create", "--name", "x", "--cron", "@daily", "--handler", "x"),
        ("executions", "list"),
        ("import", "crontab", "-"),
    ],
)
def test_a_node_that_does_not_answer_exits_with_3(tocsin: CommandLine, arguments: tuple[str, ...]) -> None:
    tocsin.reachable = False
    ended = tocsin(*arguments)

    assert (ended.code, ended.out) == (3, "")
    assert ended.err.splitlines() == [
        f"Error: no server answers at {SERVER} (UNAVAILABLE)",
        "Next: start a node with `tocsin serve`, or name another with --server, --profile or TOCSIN_SERVER",
    ]


def test_a_node_whose_store_does_not_answer_is_not_to_be_started(
    tocsin: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreUnavailable("the store did not answer")

    monkeypatch.setattr(Scheduler, "list_jobs", fail)
    ended = tocsin("jobs", "list")

    assert (ended.code, ended.err.splitlines()) == (
        3,
        [
            "Error: the store did not answer (UNAVAILABLE)",
            "Next: the node answers, but cannot reach its store or its pipe; `tocsin health` shows more",
        ],
    )


def test_the_server_is_named_after_the_command_before_it_or_by_the_environment(tocsin: CommandLine) -> None:
    tocsin("health")
    tocsin("health", TOCSIN_SERVER="http://one:1")
    tocsin("--server", "http://two:2", "health", TOCSIN_SERVER="http://one:1")
    tocsin("--server", "http://two:2", "health", "--server", "https://three")

    assert tocsin.servers == [SERVER, "http://one:1", "http://two:2", "https://three"]


def test_workers_are_listed(tocsin: CommandLine) -> None:
    tocsin.beat()

    assert "node-1#abc" in tocsin("workers").out
    assert tocsin("workers", "--json").json["items"][0]["roles"] == ["api", "timer", "executor", "sweeper"]


def test_a_worker_is_drained_and_resumed(tocsin: CommandLine) -> None:
    tocsin.beat()

    drained = tocsin("workers", "drain", "node-1#abc")
    assert (drained.code, drained.err) == (
        0,
        "It follows within seconds; `tocsin workers` shows how far it has come.\n",
    )
    assert "live, asked to drain" in drained.out
    assert "live, asked to drain" in tocsin("workers").out

    resumed = tocsin("workers", "resume", "node-1#abc", "--json")
    assert (resumed.code, resumed.json["id"], resumed.json["drain_requested"]) == (0, "node-1#abc", False)
    assert "asked to drain" not in tocsin("workers").out


@pytest.mark.parametrize("action", ["drain", "resume"])
@pytest.mark.parametrize("status", ["dead", "stopped"])
def test_a_worker_that_is_gone_is_not_asked_and_runs_nothing(tocsin: CommandLine, status: str, action: str) -> None:
    tocsin.beat(status=status)

    ended = tocsin("workers", action, "node-1#abc")
    [line] = tocsin("workers").out.splitlines()[1:]

    assert (ended.code, ended.out) == (5, "")
    assert ended.err.startswith(f"Error: the worker is {status} and cannot become ")
    assert line.split()[1::5][:2] == [status, "-"]
    assert tocsin("workers", "--json").json["items"][0]["drain_requested"] is False


@pytest.mark.parametrize("action", ["drain", "resume"])
def test_a_worker_that_is_not_there_exits_with_4(tocsin: CommandLine, action: str) -> None:
    ended = tocsin("workers", action, "node-1#gone")

    assert (ended.code, ended.out) == (4, "")
    assert ended.err.splitlines() == [
        "Error: no worker node-1#gone (WORKER_NOT_FOUND)",
        "Next: `tocsin workers` shows what there is",
    ]


def test_what_is_said_before_a_command_about_workers_holds_for_it(tocsin: CommandLine) -> None:
    tocsin.beat()

    assert (
        tocsin("workers", "--server", "http://one:1", "--json", "drain", "node-1#abc").json["drain_requested"] is True
    )
    tocsin("workers", "--server", "http://one:1", "resume", "node-1#abc", "--server", "http://two:2")

    assert tocsin.servers == ["http://one:1", "http://two:2"]


@pytest.mark.parametrize("period", ["1h", "24h", "7d", "30d"])
def test_metrics_look_back_over_a_period(tocsin: CommandLine, period: str) -> None:
    tocsin.create()
    ended = tocsin("metrics", "--period", period, "--json")

    assert (ended.json["time_range"], ended.json["jobs"]["active"]) == (period, 1)
    assert tocsin("metrics", "--period", period).out.startswith("period")


def test_metrics_tell_how_much_is_amiss_in_the_ledger(tocsin: CommandLine) -> None:
    tocsin.beat(anomalies=3)

    assert tocsin("metrics", "--json").json["system"]["anomalies"] == 3
    assert ["anomalies", "3"] in [line.split() for line in tocsin("metrics").out.splitlines()]


def test_serve_hands_over_the_settings_that_were_named_and_no_others(tocsin: CommandLine) -> None:
    tocsin("serve")
    tocsin(
        *("serve", "--host", "10.0.0.1", "--port", "9000", "--handlers", "a.b,c", "--handlers", "d"),
        *("--roles", "api,timer", "--samples", "--allow-commands", "--unsafe-allow-remote", "--config", "x.toml"),
        *(
            "--database-url",
            "postgresql://u@h/x",
            "--redis-url",
            "redis://h",
            "--concurrency",
            "5",
            "--drain-seconds",
            "1.5",
        ),
        *("--log-format", "json", "--log-level", "debug"),
    )
    bare, full = tocsin.served

    assert (bare, bare.given()) == (NodeOptions(), {})
    assert full.config == Path("x.toml")
    assert full.given() == {
        "host": "10.0.0.1",
        "port": 9000,
        "database_url": "postgresql://u@h/x",
        "redis_url": "redis://h",
        "handlers": ("a.b", "c", "d"),
        "roles": ("api", "timer"),
        "samples": True,
        "allow_commands": True,
        "allow_remote": True,
        "concurrency": 5,
        "drain_seconds": 1.5,
        "log_format": "json",
        "log_level": "debug",
    }


@pytest.mark.parametrize("code", [0, 1, 3])
def test_serve_exits_with_the_code_of_the_node(tocsin: CommandLine, code: int) -> None:
    tocsin.serve_code = code

    assert tocsin("serve").code == code


def test_settings_are_listed_with_their_source(tocsin: CommandLine) -> None:
    assert tocsin("settings", "--config", "x.toml", "--json").json == [
        {"name": "TOCSIN_PORT", "value": "8080", "source": "x.toml", "description": "port to listen on"},
    ]


def test_the_schema_goes_up_and_down(tocsin: CommandLine) -> None:
    up = tocsin("migrate", "up", "--database-url", "sqlite:///x.db", "--json").json
    again = tocsin("migrate", "up")
    down = tocsin("migrate", "down", "--yes", "--json").json
    status = tocsin("migrate", "status", "--json").json

    assert [step["version"] for step in up["items"]] == [1, 2]
    assert again.out == "nothing to do\n"
    assert [step["name"] for step in down["items"]] == ["step_2"]
    assert [step["applied_at"] for step in status["items"]] == ["2026-01-01T00:00:00Z", None]
    assert tocsin.migrations.asked[0].database_url == "sqlite:///x.db"


def test_the_version_is_shown(tocsin: CommandLine) -> None:
    assert tocsin("version").out == "tocsin 1.2.3\n"
    assert tocsin("--json", "version").json == {"version": "1.2.3"}
    assert tocsin("--version").out == "tocsin 1.2.3\n"
    assert tocsin("--version", "jobs", "list").out == "tocsin 1.2.3\n"


def test_a_preview_needs_no_server(tocsin: CommandLine) -> None:
    tocsin.reachable = False
    ended = tocsin(
        *("preview", "30 2 * * *", "--timezone", "Europe/Berlin", "--count", "2"),
        *("--after", "2026-03-28T12:00:00Z"),
    )

    assert ended.code == 0
    assert "2026-03-29 03:00:00 +02:00  2026-03-29T01:00:00Z" in ended.out
    assert "02:30 does not exist on 2026-03-29 in Europe/Berlin" in ended.out
    assert tocsin.servers == []


@pytest.mark.parametrize("instant", ["in 10m", "now"])
def test_a_preview_of_an_instant_counts_from_now(tocsin: CommandLine, instant: str) -> None:
    (fire,) = tocsin("preview", instant, "--json").json["fires"]
    away = datetime.fromisoformat(fire["scheduled_at"]) - datetime.now(UTC)

    assert away <= timedelta(minutes=10)
    assert (away > timedelta(minutes=5)) is (instant == "in 10m")


def test_help_tells_the_exit_codes(tocsin: CommandLine) -> None:
    helped = tocsin("--help")

    assert helped.code == 0
    assert "3   no node answers" in helped.out


@pytest.mark.parametrize("arguments", [(), ("jobs",), ("executions",), ("migrate",), ("import",)])
def test_a_group_without_a_command_shows_its_help(tocsin: CommandLine, arguments: tuple[str, ...]) -> None:
    ended = tocsin(*arguments)

    assert ended.code == 2
    assert "Commands:" in ended.out + ended.err


def test_what_is_shown_anew_again_and_again_is_no_other_command(tocsin: CommandLine) -> None:
    tocsin.beat()
    ended = tocsin("workers", "--watch", "drain", "node-1#abc")

    assert ended.code == 2
    assert "watch: does not go with drain" in ended.err
    assert tocsin("workers", "--json").json["items"][0]["status"] == "live"
