"""CloudEvents as events: what each attribute becomes, and that every refusal names one."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.cloudevents import event_of, event_of_document, read_data
from tocsin.domain.errors import InvalidEvent
from tocsin.domain.event import EventOrigin, NewEvent
from tocsin.domain.json import encoded
from tocsin.domain.strict_json import read_json

REQUIRED = {"specversion": "1.0", "id": "1", "source": "a", "type": "order.created"}
STREAM = EventOrigin.STREAM

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
NAMES = st.sampled_from(
    ["specversion", "id", "source", "type", "time", "subject", "traceparent", "data", "data_base64"]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(st.dictionaries(NAMES | st.text(max_size=5), JSON | st.just("1.0"), max_size=8))
def test_whatever_is_sent_is_an_event_or_a_refusal_that_names_fields(document: dict[str, object]) -> None:
    for sent in (document, {**REQUIRED, **document}):
        event, fields = read(sent)
        assert (event is None) is bool(fields)
        assert all(fields)
        if event is not None:
            assert (event.name, event.source, event.origin) == (sent["type"], sent["source"], STREAM)


def read(sent: object) -> tuple[NewEvent | None, list[str]]:
    """Give the event, or the fields that the refusal names."""
    try:
        return event_of_document(sent, origin=STREAM), []  # type: ignore[arg-type]  # any JSON
    except InvalidEvent as error:
        return None, [each.field for each in error.errors]


@given(st.tuples(TEXTS, TEXTS), st.tuples(TEXTS, TEXTS))
def test_keys_are_equal_only_if_source_and_id_are(one: tuple[str, str], other: tuple[str, str]) -> None:
    keys = [
        event_of({**REQUIRED, "source": source, "id": identity}, origin=STREAM).idempotency_key
        for source, identity in (one, other)
    ]

    assert (keys[0] == keys[1]) is (one == other)


@given(JSON)
def test_data_is_the_same_however_it_is_framed(data: object) -> None:
    try:
        raw = encoded(data).encode()  # type: ignore[arg-type]  # any JSON
    except UnicodeEncodeError:
        return
    in_base64 = {**REQUIRED, "data_base64": b64encode(raw).decode()}

    assert read_data(raw, "application/json") == data
    assert event_of_document(in_base64, origin=STREAM).data == data


@pytest.mark.parametrize("content_type", ["", "nonsense", "a/b; charset=", "text/plain; charset=klingon", "x\r\ny: z"])
def test_a_content_type_that_is_none_hinders_nobody(content_type: str) -> None:
    assert isinstance(read_data(b"a\xff", content_type or "a/b"), str)


def test_a_trace_that_is_malformed_counts_for_nothing() -> None:
    assert event_of({**REQUIRED, "traceparent": "00-nonsense"}, origin=STREAM).trace is None


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b"\xff", "is not UTF-8"),
        (b"{", "is not JSON"),
        (b"[NaN]", "NaN is no JSON number"),
        (b"[1e999]", "beyond what a double can hold"),
        (b'{"a": 1, "a": 2}', "'a' is given twice"),
        (b"[" * 100_000, "nests too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_the_reason(raw: bytes, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        read_json(raw)
