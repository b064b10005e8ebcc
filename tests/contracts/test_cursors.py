from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.makers import START, new_id
from tocsin.domain.errors import InvalidJob
from tocsin.ports.cursors import Position, SortValue, read_cursor, write_cursor
from tocsin.ports.queries import ExecutionFilter, JobFilter, SortBy

INSTANTS = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2199, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
VALUES: Mapping[SortBy, st.SearchStrategy[SortValue]] = {
    SortBy.NAME: st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=255),
    SortBy.PRIORITY: st.integers(0, 100),
    SortBy.CREATED_AT: INSTANTS,
    SortBy.NEXT_RUN: st.none() | INSTANTS,
}


@given(st.data(), st.sampled_from(SortBy), st.uuids())
def test_a_cursor_reads_as_the_position_it_was_written_for(data: st.DataObject, sort_by: SortBy, id_: UUID) -> None:
    query = JobFilter(sort_by=sort_by)
    position = Position(value=data.draw(VALUES[sort_by]), id=id_)

    cursor = write_cursor(query, position)

    assert read_cursor(replace(query, cursor=cursor)) == position
    assert cursor.isascii()
    assert not set(cursor) & set("=+/")


def test_a_query_without_a_cursor_starts_at_the_start() -> None:
    assert read_cursor(JobFilter()) is None


def test_the_size_of_the_page_is_no_part_of_a_list() -> None:
    position = Position(value=START, id=new_id(START))
    cursor = write_cursor(ExecutionFilter(limit=1), position)

    assert read_cursor(ExecutionFilter(limit=9, cursor=cursor)) == position


def test_a_list_is_the_same_however_its_instants_and_choices_are_written() -> None:
    berlin = timezone(timedelta(hours=1))
    cursor = write_cursor(JobFilter(created_after=START, tags=("a", "b")), Position(value=START, id=new_id(START)))

    same = JobFilter(created_after=START.astimezone(berlin), tags=("b", "a"), cursor=cursor)

    assert read_cursor(same) is not None


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda raw: raw.decode("latin-1")))
def test_whatever_else_a_caller_sends_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        read_cursor(ExecutionFilter(cursor=text))

    assert [error.field for error in caught.value.errors] == ["cursor"]


@pytest.mark.parametrize(
    ("sort_by", "value"),
    [
        (SortBy.PRIORITY, "50"),
        (SortBy.PRIORITY, True),
        (SortBy.PRIORITY, 2**63),
        (SortBy.PRIORITY, None),
        (SortBy.NAME, 5),
        (SortBy.NAME, None),
        (SortBy.CREATED_AT, "soon"),
        (SortBy.CREATED_AT, "0001-01-01T00:00:00+23:00"),
        (SortBy.CREATED_AT, None),
        (SortBy.NEXT_RUN, 7),
    ],
)
def test_a_forged_value_never_reaches_a_store(sort_by: SortBy, value: str | int | None) -> None:
    query = JobFilter(sort_by=sort_by)
    cursor = write_cursor(query, Position(value=value, id=new_id(START)))

    with pytest.raises(InvalidJob):
        read_cursor(replace(query, cursor=cursor))
