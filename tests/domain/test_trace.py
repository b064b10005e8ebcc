"""W3C Trace Context, case by case: https://www.w3.org/TR/trace-context/, sections 3.2 and 3.3."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.domain.trace import (
    SAMPLED,
    TRACESTATE_LENGTH,
    TRACESTATE_MEMBERS,
    TraceContext,
    attempt_span_of,
    read_trace_context,
    read_tracestate,
    span_of,
    trace_of,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
ARABIC_ZERO = "\u0660"
VALID = f"00-{TRACE}-{SPAN}-01"

CONTEXTS = st.builds(
    TraceContext,
    trace_id=st.integers(1, 2**128 - 1).map("{:032x}".format),
    span_id=st.integers(1, 2**64 - 1).map("{:016x}".format),
    flags=st.integers(0, 255),
)


@pytest.mark.parametrize(
    ("traceparent", "flags"),
    [
        (VALID, 1),
        (f"00-{TRACE}-{SPAN}-00", 0),
        (f"00-{TRACE}-{SPAN}-03", 3),
        (f"00-{TRACE}-{SPAN}-ff", 255),
        (f" {VALID}\t", 1),
        # Of a later version only what version 00 knows is read, and more may follow.
        (f"01-{TRACE}-{SPAN}-01", 1),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", 1),
        (f"fe-{TRACE}-{SPAN}-02", 0),
        (f"01-{TRACE}-{SPAN}-ff", 1),
        (f"01-{TRACE}-{SPAN}-01-", 1),
    ],
)
def test_a_valid_traceparent_is_read(traceparent: str, flags: int) -> None:
    read = read_trace_context(traceparent)

    assert read == TraceContext(trace_id=TRACE, span_id=SPAN, flags=flags)
    assert read.is_sampled is bool(flags & SAMPLED)


@pytest.mark.parametrize(
    "traceparent",
    [
        None,
        "",
        " ",
        "nonsense",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-001",
        f"00-{TRACE}-{SPAN}-0g",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01-",
        f"00-{TRACE}-{SPAN}-01.",
        f"01-{TRACE}-{SPAN}-01.more",
        f"01-{TRACE}-{SPAN}-0123",
        f"0-{TRACE}-{SPAN}-01",
        f"000-{TRACE}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01-more",
        f"0G-{TRACE}-{SPAN}-01",
        f"CC-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN.upper()}-01",
        f"00-{TRACE}-{SPAN}-0A",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}0-{SPAN}-01",
        f"00-{TRACE}-{SPAN[:-1]}-01",
        f"00-{TRACE}-{SPAN}0-01",
        f"00_{TRACE}_{SPAN}_01",
        f"00-{TRACE}-{SPAN}-01,{VALID}",
        f"{VALID}\n",
        f"\x00{VALID}",
        f"00-{ARABIC_ZERO * 32}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01-{'x' * 512}",
    ],
)
def test_a_malformed_or_oversized_traceparent_counts_for_nothing_and_its_tracestate_with_it(
    traceparent: str | None,
) -> None:
    assert read_trace_context(traceparent, "vendor=value") is None


@pytest.mark.parametrize(
    ("tracestate", "read"),
    [
        (None, None),
        ("", None),
        (" ", None),
        (",", None),
        ("foo=1", "foo=1"),
        ("foo=1,bar=2", "foo=1,bar=2"),
        ("foo=1 \t , \t bar=2,\t", "foo=1,bar=2"),
        ("foo=1,,bar=2,", "foo=1,bar=2"),
        ("foo=a b c", "foo=a b c"),
        (f"{'z' * 256}=1", f"{'z' * 256}=1"),
        ("0tenant@vendor=1", "0tenant@vendor=1"),
        (f"{'t' * 241}@{'v' * 14}=1", f"{'t' * 241}@{'v' * 14}=1"),
        ("a-_*/0=!#$%&'()*+-./:;<>?@[]^_`{|}~", "a-_*/0=!#$%&'()*+-./:;<>?@[]^_`{|}~"),
        (f"foo={'1' * 256}", f"foo={'1' * 256}"),
        (",".join(f"k{n}=1" for n in range(32)), ",".join(f"k{n}=1" for n in range(32))),
    ],
)
def test_a_valid_tracestate_is_handed_on_in_its_order(tracestate: str | None, read: str | None) -> None:
    assert read_tracestate(tracestate) == read


@pytest.mark.parametrize(
    "tracestate",
    [
        "foo",
        "foo=",
        "=1",
        "foo=1,bar",
        "foo=1=2",
        "foo=1,foo=2",
        "foo=1,bar=2,foo=1",
        "FOO=1",
        "fOo=1",
        "0foo=1",
        "foo @vendor=1",
        "foo@=1",
        "@vendor=1",
        "foo@0vendor=1",
        "foo@bar@baz=1",
        "foo =1",
        "foo.bar=1",
        f"{'z' * 257}=1",
        f"{'t' * 242}@v=1",
        f"t@{'v' * 15}=1",
        f"foo={'1' * 257}",
        "foo=\x00",
        "foo=bär",
        "foo=1\n,bar=2",
        ",".join(f"k{n}=1" for n in range(TRACESTATE_MEMBERS + 1)),
    ],
)
def test_a_malformed_tracestate_is_dropped_and_the_trace_goes_on(tracestate: str) -> None:
    assert read_trace_context(VALID, tracestate) == TraceContext(trace_id=TRACE, span_id=SPAN)


def test_of_a_tracestate_that_is_too_long_the_longest_members_go_first_and_then_the_last() -> None:
    long, short = f"long={'x' * 200}", [f"k{number}={'y' * 90}" for number in range(6)]

    assert read_tracestate(",".join([long, *short])) == ",".join(short[:5])
    assert read_tracestate(",".join([long, *short[:3]])) == ",".join([long, *short[:3]])


@given(st.text())
def test_no_tracestate_whatever_is_handed_on_longer_than_allowed_or_unlike_it_can_be_read_again(text: str) -> None:
    read = read_tracestate(text)

    if read is not None:
        assert len(read) <= TRACESTATE_LENGTH
        assert read_tracestate(read) == read


@given(CONTEXTS)
def test_what_is_written_is_read_again(context: TraceContext) -> None:
    assert read_trace_context(context.traceparent) == context


@given(st.text())
def test_no_text_whatever_breaks_the_reader(text: str) -> None:
    read = read_trace_context(text, text)

    assert read is None or read_trace_context(read.traceparent) is not None


@given(CONTEXTS, st.uuids())
def test_a_span_under_another_stays_in_its_trace(context: TraceContext, subject: UUID) -> None:
    under = context.under(span_of(subject))

    assert (under.trace_id, under.flags, under.tracestate) == (context.trace_id, context.flags, context.tracestate)
    assert under.span_id == trace_of(subject).span_id


@given(st.uuids(), st.uuids())
def test_ids_follow_from_what_they_stand_for_and_from_nothing_else(one: UUID, other: UUID) -> None:
    assert trace_of(one) == trace_of(UUID(str(one)))
    assert (trace_of(one) == trace_of(other)) is (one == other)
    assert read_trace_context(trace_of(one).traceparent) == trace_of(one)


@given(st.uuids())
def test_every_attempt_has_a_span_of_its_own(execution: UUID) -> None:
    spans = [span_of(execution), *(attempt_span_of(execution, attempt) for attempt in range(1, 5))]

    assert len(set(spans)) == 5
