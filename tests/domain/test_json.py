from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.json import NESTING_LIMIT, Json, NotStorable, clean_text, encoded, storable

TEXT = st.text(st.characters(categories=None, codec=None))
"""Any text at all, NUL and lone surrogates included."""


class Colour(Enum):
    RED = "red"
    BOTH = ("red", 1)


class Word(StrEnum):
    YES = "yes"


class Shout(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")


class Trap(dict[str, object]):
    def items(self) -> Any:  # noqa: ANN401 - it never answers
        raise RuntimeError("no items for you")


class Endless(list[object]):
    def __iter__(self) -> Iterator[object]:
        while True:
            yield 1


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(1000, 20_000).map(lambda bits: 1 << bits),
    st.floats(),
    TEXT,
    TEXT.map(Shout),
    st.binary(),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.decimals(),
    st.complex_numbers(),
    st.sampled_from([Colour.RED, Colour.BOTH, Word.YES, object(), len, Trap(a=1), Endless()]),
)
HASHABLE = SCALARS.filter(lambda value: not isinstance(value, dict | list | Decimal))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.tuples(inner, inner),
        st.dictionaries(HASHABLE, inner),
        st.frozensets(HASHABLE),
    ),
)


def kept_or_none(value: object) -> Json:
    """What is kept of a value; None also when it was refused. Anything but NotStorable passes through."""
    try:
        return storable(value)
    except NotStorable:
        return None


@given(VALUES)
def test_any_value_becomes_json_that_every_store_can_write_or_is_refused(value: object) -> None:
    document = kept_or_none(value)

    written = encoded(document).encode("utf-8")
    assert json.loads(written) == document
    assert b"\\u0000" not in written
    assert storable(document) == document


@given(st.recursive(st.none() | st.booleans() | st.integers() | TEXT, st.lists, max_leaves=50))
def test_the_limit_is_exact_in_bytes(value: object) -> None:
    size = len(encoded(storable(value)).encode())

    assert storable(value, limit=size) == storable(value)
    with pytest.raises(NotStorable, match=f"more than {size - 1} bytes"):
        storable(value, limit=size - 1)


@pytest.mark.parametrize(
    ("value", "document"),
    [
        ("a\0b", "a\ufffdb"),
        ("\ud800 and \udfff", "\ufffd and \ufffd"),
        ({"\0": "\ud83d"}, {"\ufffd": "\ufffd"}),
        ([float("nan"), float("inf"), -float("inf"), 1.5], [None, None, None, 1.5]),
        ((1, 2), [1, 2]),
        ({1: "a", "b": 2}, {"1": "a", "b": 2}),
        ({False: 0, Word.YES: 1, date(2026, 1, 2): 2}, {"false": 0, "yes": 1, "2026-01-02": 2}),
        (Colour.BOTH, ["red", 1]),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
        (timedelta(minutes=1), 60.0),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    ],
)
def test_what_has_an_obvious_form_takes_it(value: object, document: Json) -> None:
    assert storable(value) == document


@pytest.mark.parametrize(
    "value",
    [
        b"raw",
        Decimal(1),
        object(),
        {None: 1},
        {1.5: 1},
        {(1,): 1},
        2**1024,
        -(2**1024),
        [10**5000],
        {10**5000: 1},
        Trap(a=1),
    ],
)
def test_what_has_none_is_refused(value: object) -> None:
    with pytest.raises(NotStorable):
        storable(value)


def test_the_largest_integer_is_kept() -> None:
    assert storable(2**1024 - 1) == 2**1024 - 1


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_is_kept_up_to_the_limit_and_refused_beyond() -> None:
    assert storable(nested(NESTING_LIMIT)) == nested(NESTING_LIMIT)
    with pytest.raises(NotStorable, match="nests deeper"):
        storable(nested(NESTING_LIMIT + 1))


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[object] = []
    ring.extend([ring, ring])
    with pytest.raises(NotStorable, match="refers to itself"):
        storable({"ring": ring})


def test_a_small_value_that_would_unfold_without_end_is_refused_before_it_does() -> None:
    doubled: list[object] = []
    for _ in range(60):
        doubled = [doubled, doubled]
    with pytest.raises(NotStorable, match="bytes"):
        storable(doubled)
    with pytest.raises(NotStorable, match="bytes"):
        storable(Endless())


@given(TEXT, st.integers(0, 60))
def test_text_is_cut_to_the_bytes_allowed_and_never_within_a_character(text: str, limit: int) -> None:
    cleaned = clean_text(text, limit=limit)

    assert len(cleaned.encode("utf-8")) <= limit
    assert "\0" not in cleaned
    whole = clean_text(text, limit=10_000)
    assert whole.startswith(cleaned.removesuffix("… (truncated)"))
    assert (cleaned == whole) == (len(whole.encode()) <= limit)


@given(TEXT, st.integers(16, 60))
def test_a_cut_is_marked(text: str, limit: int) -> None:
    cleaned = clean_text(text * 60, limit=limit)

    assert cleaned.endswith("… (truncated)") or len(clean_text(text * 60).encode()) <= limit


def test_a_text_that_grows_in_bytes_is_still_held_to_the_limit() -> None:
    assert len(clean_text("\ud800" * 100, limit=100).encode()) <= 100
    assert clean_text("\0" * 5, limit=15) == "\ufffd" * 5
