from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.patterns import is_name, is_pattern, is_reserved, matches

SEGMENTS: Final = ("a", "b", "ab")


def texts(*segments: str) -> st.SearchStrategy[str]:
    """Up to six of these segments, split at dots and colons."""
    parts = st.lists(st.tuples(st.sampled_from(".:"), st.sampled_from(segments)), min_size=1, max_size=6)
    return parts.map(lambda parts: "".join(separator + segment for separator, segment in parts)[1:])


def by_segments(pattern: str, name: str) -> bool:
    """Match segment by segment, trying every length of a `**`."""

    def fits(wanted: list[str], given: list[str]) -> bool:
        if not wanted or not given:
            return not wanted and not given
        if wanted[0][0] != given[0][0]:
            return False
        match wanted[0][1:]:
            case "**":
                return any(fits(wanted[1:], given[taken:]) for taken in range(1, len(given) + 1))
            case segment:
                return segment in {"*", given[0][1:]} and fits(wanted[1:], given[1:])

    return fits(*(re.findall(r"[.:][^.:]+", f".{text}") for text in (pattern, name)))


@given(texts(*SEGMENTS, "*", "**"), texts(*SEGMENTS))
def test_a_pattern_matches_as_its_segments_do(pattern: str, name: str) -> None:
    assert is_pattern(pattern)
    assert is_name(name)
    assert matches(pattern, name) is by_segments(pattern, name)


@given(texts(*SEGMENTS, "tocsin"), texts("*", "**"))
def test_no_wildcard_stands_for_the_first_segment_of_a_fact(name: str, pattern: str) -> None:
    assert not matches(pattern, f"tocsin.{name}")
    assert matches("tocsin.**", f"tocsin.{name}")
    assert not matches("tocsin.**", name) or is_reserved(name)


@pytest.mark.parametrize("name", ["tocsin", "tocsin.job.created", "tocsin:job"])
def test_a_name_is_reserved_by_its_first_segment(name: str) -> None:
    assert is_reserved(name)
    assert not is_reserved(f"my.{name}")
    assert not is_reserved(f"{name}s") or "." in name or ":" in name


def test_a_pattern_of_very_many_wildcards_is_held_against_a_long_name_all_the_same() -> None:
    assert not matches(".".join(["**"] * 60 + ["x"]), ".".join(["a"] * 128))
    assert matches(".".join(["**"] * 60), ".".join(["a"] * 128))


@pytest.mark.parametrize("text", ["", "a..b", ".a", "a.", "a b", "ä", "a.*", "a\n", "a" * 256])
def test_what_is_no_name(text: str) -> None:
    assert not is_name(text)


@pytest.mark.parametrize("text", ["", "a.*b", "***", "a..*", "*.", "**" + ".a" * 127])
def test_what_is_no_pattern(text: str) -> None:
    assert not is_pattern(text)
