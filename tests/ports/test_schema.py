from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.ports.schema import (
    Migration,
    MigrationStatus,
    migrations_of,
    refusal,
    refusal_down,
    statuses,
    steps_down,
    steps_up,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)


def a_step(version: int, up: str = "-- A table.\nCREATE TABLE t (id INTEGER);\n") -> Migration:
    return Migration(version=version, name="step", up=up, down="DROP TABLE t;")


def known(count: int) -> Sequence[Migration]:
    return [a_step(version) for version in range(1, count + 1)]


def taken(count: int, *, incompatible: int | None = None) -> list[MigrationStatus]:
    rows = [step.taken(AT) for step in known(count)]
    return [
        MigrationStatus(
            version=row.version,
            name=row.name,
            checksum=row.checksum,
            applied_at=AT,
            compatible=row.version != incompatible,
        )
        for row in rows
    ]


@pytest.mark.parametrize(
    ("up", "compatible"),
    [
        ("CREATE TABLE t (id INTEGER);", True),
        ("-- A table.\nCREATE TABLE t (id INTEGER);", True),
        ("-- compatible: no\nDROP TABLE t;", False),
        ("-- The old table goes.\n-- compatible: no\nDROP TABLE t;", False),
        ("-- compatible: yes\nCREATE TABLE t (id INTEGER);", True),
        ("-- compatible: nothing is lost\nCREATE TABLE t (id INTEGER);", True),
        ("CREATE TABLE t (id INTEGER);\n-- compatible: no\n", True),
    ],
)
def test_a_step_is_compatible_unless_its_opening_comment_says_no(up: str, *, compatible: bool) -> None:
    assert a_step(1, up).compatible is compatible
    assert a_step(1, up).taken(AT).compatible is compatible


def test_the_steps_of_an_engine_are_read_with_their_way_back() -> None:
    steps = migrations_of("tocsin.adapters.sqlite")

    assert [step.version for step in steps] == list(range(1, len(steps) + 1))
    assert all(step.up and step.down for step in steps)
    assert [step.version for step in steps if not step.compatible] == [11, 12, 13]


@given(st.integers(0, 6), st.integers(0, 9))
def test_a_version_goes_on_before_at_and_past_its_own_schema_if_what_came_is_compatible(ours: int, theirs: int) -> None:
    assert refusal(known(ours), taken(theirs)) is None
    assert (refusal_down(known(ours), taken(theirs)) is None) is (theirs <= ours)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 9))
def test_an_incompatible_step_is_refused_by_those_who_do_not_know_it(ours: int, theirs: int, step: int) -> None:
    reason = refusal(known(ours), taken(theirs, incompatible=step))

    assert (reason == f"a newer version of Tocsin wrote it (schema {step}_step)") is (ours < step <= theirs)


@given(st.integers(0, 6), st.integers(0, 9), st.integers(0, 9))
def test_up_and_down_lead_to_the_version_that_is_named(ours: int, theirs: int, to: int) -> None:
    steps = known(ours)
    have = min(ours, theirs)

    up = [step.version for step in steps_up(steps, taken(theirs), to)]
    down = [step.version for step in steps_down(steps, taken(theirs), to)]

    assert up == list(range(theirs + 1, min(to, ours) + 1))
    assert down == list(range(have, to, -1))
    assert [step.version for step in steps_up(steps, taken(theirs), None)] == list(range(theirs + 1, ours + 1))


def test_a_step_that_was_edited_is_noticed() -> None:
    edited = [a_step(1), a_step(2, "CREATE TABLE other (id INTEGER);")]

    assert refusal(edited, taken(2)) == "its schema step 2_step is not the one this version knows"


def test_a_schema_with_a_hole_is_refused() -> None:
    assert refusal(known(3), [*taken(1), *taken(3)[2:]]) == "its schema has step 3_step but not 2"
    assert refusal(known(2), [*taken(1), *taken(3)[2:]]) == "a newer version of Tocsin wrote it (schema 3_step)"


def test_steps_that_only_a_newer_version_knows_are_listed_last() -> None:
    listed = statuses(known(2), taken(3))

    assert [each.version for each in listed] == [1, 2, 3]
    assert [each.applied_at for each in statuses(known(2), taken(1))] == [AT, None]
