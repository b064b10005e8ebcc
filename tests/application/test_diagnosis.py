from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tocsin.application.diagnosis import ClockReading, Finding, Level, of_clocks, of_database, of_pipe
from tocsin.ports.conditions import DatabaseCondition, PipeCondition
from tocsin.ports.schema import MigrationStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TAKEN = MigrationStatus(version=1, name="jobs", checksum="a", applied_at=NOW)
MISSING = MigrationStatus(version=2, name="executions", checksum="b", applied_at=None)
SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "max_connections": "100",
    "superuser_reserved_connections": "3",
    "in_recovery": "off",
}
POSTGRES = DatabaseCondition(
    engine="PostgreSQL",
    version="18.4",
    now=NOW,
    settings=SETTINGS,
    migrations=(TAKEN,),
    connections=10,
    lapsed_leases=0,
)
REDIS = PipeCondition(version="6.2.7", now=NOW, role="master", memory=1, memory_limit=0, eviction="noeviction")


def troubles(findings: list[Finding]) -> list[tuple[Level, str]]:
    assert all(each.advice for each in findings if each.level in {Level.WARNING, Level.ERROR})
    return [(each.level, each.message) for each in findings if each.level is not Level.OK]


def of(database: DatabaseCondition, *, nodes: int = 3) -> list[tuple[Level, str]]:
    return troubles(list(of_database(database, nodes=nodes, connections_each=11)))


def test_a_database_as_it_should_be_gives_no_trouble() -> None:
    assert of(POSTGRES) == []
    assert of(replace(POSTGRES, engine="SQLite", version="3.45.0", settings={}, connections=None)) == []


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("fsync", "off", Level.ERROR),
        ("in_recovery", "on", Level.ERROR),
        ("full_page_writes", "off", Level.WARNING),
        ("synchronous_commit", "off", Level.WARNING),
    ],
)
def test_a_setting_that_costs_durability_is_told(name: str, value: str, level: Level) -> None:
    ((found, _),) = of(replace(POSTGRES, settings={**SETTINGS, name: value}))

    assert found is level


def test_a_version_that_nobody_tests_any_more_is_told() -> None:
    versions = ("13.21", "14", "14.23", "19beta1")

    assert [version for version in versions if of(replace(POSTGRES, version=version))] == ["13.21"]


def test_more_nodes_than_the_server_has_connections_for_are_told() -> None:
    assert of(POSTGRES, nodes=8) == []
    ((level, message),) = of(POSTGRES, nodes=9)

    assert (level, message) == (Level.WARNING, "the live nodes may open 99 connections, and it takes 97")


def test_a_server_that_is_nearly_full_is_told() -> None:
    assert of(replace(POSTGRES, connections=77)) == []
    assert of(replace(POSTGRES, connections=78)) == [(Level.WARNING, "78 of its 97 connections are taken")]


def test_missing_steps_of_the_schema_are_named() -> None:
    ((level, message),) = of(replace(POSTGRES, migrations=(TAKEN, MISSING)))

    assert level is Level.WARNING
    assert message.endswith("lacks 1 of 2 steps of the schema: 2_executions")


def test_leases_that_nobody_looks_after_are_told() -> None:
    ((level, message),) = of(replace(POSTGRES, lapsed_leases=4))

    assert (level, message[:21]) == (Level.WARNING, "4 executions are held")


@pytest.mark.parametrize(
    ("pipe", "level"),
    [
        (replace(REDIS, version="6.0.16"), Level.ERROR),
        (replace(REDIS, role="slave"), Level.ERROR),
        (replace(REDIS, memory_limit=100, eviction="allkeys-lru"), Level.WARNING),
        (replace(REDIS, memory=81, memory_limit=100), Level.WARNING),
    ],
)
def test_a_redis_that_cannot_carry_what_it_is_given_is_told(pipe: PipeCondition, level: Level) -> None:
    assert troubles(list(of_pipe(REDIS))) == []
    assert [each for each, _ in troubles(list(of_pipe(pipe)))] == [level]


@pytest.mark.parametrize(
    ("showed", "skew"),
    [(0.0, 0.0), (1.0, 0.0), (0.5, 0.0), (4.0, 3.0), (-3.0, -3.0)],
    ids=["when asked", "when answered", "between", "after", "before"],
)
def test_a_clock_is_wrong_by_what_it_stands_outside_of_the_question_and_the_answer(showed: float, skew: float) -> None:
    assert reading(showed).skew == timedelta(seconds=skew)


def test_clocks_that_agree_are_named_and_those_that_do_not_are_told() -> None:
    (agreed,) = of_clocks([reading(0.5)])
    ahead, behind = of_clocks([reading(0.5), reading(9), reading(-9)])

    assert agreed.level is Level.OK
    assert ahead.message == "the clock of the node is 8.0 s ahead of this machine's"
    assert behind.message == "the clock of the node is 9.0 s behind this machine's"


def reading(seconds: float) -> ClockReading:
    """Ask for a second, and be shown what the clock is that many seconds after the question."""
    return ClockReading(
        subject="the node",
        asked_at=NOW,
        showed=NOW + timedelta(seconds=seconds),
        answered_at=NOW + timedelta(seconds=1),
    )
