from __future__ import annotations

import asyncio
import os

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.handlers.contexts import WrittenLog
from tocsin.adapters.handlers.output import KEPT_BYTES, KEPT_LINES, LINE_BYTES, LineLog, OutputPipe

PIECES = st.tuples(
    st.sampled_from([b"x", b"\n", b"ab\n", b"y" * 99 + b"\n", b"\xc3\xa9", b"\xff\r\n"]), st.integers(1, 9000)
)
STREAMS = st.lists(PIECES, max_size=6).map(lambda pieces: b"".join(piece * count for piece, count in pieces))


def logged(stream: bytes, *, chunk: int) -> tuple[WrittenLog, LineLog]:
    written = WrittenLog()
    log = LineLog(written.info, stream="stdout")
    for start in range(0, len(stream), chunk):
        log.feed(stream[start : start + chunk])
    log.finish()
    return written, log


@settings(max_examples=30)
@given(STREAMS, st.integers(100, 70_000))
def test_where_a_stream_is_cut_makes_no_difference(stream: bytes, chunk: int) -> None:
    whole, pieces = logged(stream, chunk=len(stream) or 1), logged(stream, chunk=chunk)

    assert pieces[0] == whole[0]
    assert (pieces[1].size, pieces[1].truncated) == (len(stream), whole[1].truncated)
    assert pieces[1].tail() == whole[1].tail()


@settings(max_examples=30)
@given(STREAMS)
def test_a_log_stays_within_its_bounds_and_says_when_it_left_something_out(stream: bytes) -> None:
    written, log = logged(stream, chunk=5000)
    lines = written.of("stdout")
    if log.truncated:
        assert lines.pop() == f"the log is cut: {len(stream)} bytes were printed"

    assert len(lines) <= KEPT_LINES
    assert sum(len(line.encode("utf-8", "replace")) for line in lines) <= 3 * KEPT_BYTES
    assert (
        log.truncated
        or lines == stream.decode("utf-8", "replace").replace("\r", "").removesuffix("\n").split("\n")[: len(lines)]
    )


@given(st.lists(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1)))
def test_every_line_of_a_short_stream_is_logged(lines: list[str]) -> None:
    written, log = logged("\n".join(lines).encode(), chunk=7)

    assert written.of("stdout") == lines
    assert not log.truncated


def test_a_long_line_is_cut() -> None:
    written, log = logged(b"x" * (LINE_BYTES + 1) + b"\nnext\n", chunk=1000)

    assert written.of("stdout")[:2] == ["x" * LINE_BYTES, "next"]
    assert log.truncated


def test_the_last_line_is_the_last_that_is_not_blank() -> None:
    assert logged(b"first\n last \n\n  \n", chunk=3)[1].last_line() == "last"
    assert logged(b"\n", chunk=3)[1].last_line() == ""


async def test_a_pipe_feeds_its_log_until_the_other_end_is_closed() -> None:
    written = WrittenLog()
    with OutputPipe(LineLog(written.info, stream="stdout")) as pipe:
        os.write(pipe.writing, b"one\ntwo")
        pipe.release()
        await asyncio.wait_for(pipe.ended.wait(), 5)

    assert written.of("stdout") == ["one", "two"]


async def test_a_pipe_that_is_left_open_is_read_once_more() -> None:
    written = WrittenLog()
    with OutputPipe(LineLog(written.info, stream="stdout")) as pipe:
        other = os.dup(pipe.writing)
        os.write(other, b"last words")

    os.close(other)
    assert written.of("stdout") == ["last words"]
