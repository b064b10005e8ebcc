from __future__ import annotations

import asyncio
import sys
from typing import NoReturn, cast

import pytest

from tocsin.application.outcomes import STACK_FRAMES, call, failure, kept, outcome_of
from tocsin.domain.errors import HandlerFailed
from tocsin.domain.json import ERROR_LIMIT, NotStorable
from tocsin.ports.handlers import HandlerContext

ADDRESS = "https://example.com/?token=s3cret"


def raised(step: object) -> BaseException:
    assert callable(step)
    try:
        step()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test is about
        return error
    raise AssertionError("nothing was raised")


def stack(step: object) -> str:
    return failure(raised(step), 0).error_stack or ""


def inner() -> None:
    raise OSError(ADDRESS)


def hidden() -> None:
    try:
        inner()
    except OSError:
        raise ValueError("no answer") from None


def hidden_deeper() -> None:
    try:
        hidden()
    except ValueError as error:
        raise KeyError("outer") from error


def chained() -> None:
    try:
        inner()
    except OSError as error:
        raise ValueError("no answer") from error


def on_the_way() -> None:
    try:
        inner()
    except OSError:
        raise ValueError("no answer")  # noqa: B904 - the chain that nobody made on purpose is what is tested


def test_what_a_handler_hid_on_purpose_stays_hidden() -> None:
    assert "s3cret" not in stack(hidden)
    assert "caused by" not in stack(hidden)
    deeper = stack(hidden_deeper)
    assert "caused by ValueError: no answer" in deeper
    assert "s3cret" not in deeper


@pytest.mark.parametrize("step", [chained, on_the_way])
def test_what_led_to_an_error_is_told(step: object) -> None:
    assert f"caused by OSError: {ADDRESS}" in stack(step)


def test_causes_that_go_in_a_circle_are_told_once() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first

    told = failure(first, 0).error_stack or ""

    assert told.count("caused by ValueError: second") == 1


async def test_a_stack_begins_where_the_handler_does() -> None:
    async def broken(_: HandlerContext) -> None:
        inner()

    task = asyncio.ensure_future(call(broken, cast("HandlerContext", None)))
    await asyncio.wait([task])
    told = outcome_of(task, 0).error_stack

    assert told is not None
    assert told.startswith(f'  File "{__file__}"')


def test_a_very_deep_stack_is_cut_to_its_newest_frames() -> None:
    def deeper() -> None:
        deeper()

    told = stack(deeper)

    assert told.count("in deeper") <= STACK_FRAMES
    assert len(told.encode()) <= ERROR_LIMIT


def test_a_long_message_of_wide_characters_keeps_its_bound() -> None:
    outcome = failure(ValueError("é" * ERROR_LIMIT), 12)

    assert len((outcome.error or "").encode()) <= ERROR_LIMIT
    assert outcome.duration_ms == 12


def test_a_value_is_kept_up_to_its_limit() -> None:
    assert kept("x" * 8, limit=10) == "x" * 8
    with pytest.raises(NotStorable, match="10 bytes"):
        kept("x" * 9, limit=10)


class Leaving:
    def __str__(self) -> str:
        raise SystemExit(4)

    __repr__ = __str__


class Trap(HandlerFailed):
    @property
    def result(self) -> object:
        sys.exit(5)

    @result.setter
    def result(self, value: object) -> None:
        pass


def test_an_error_whose_own_code_asks_to_exit_is_described_all_the_same() -> None:
    outcome = failure(Trap("bad"), 12)

    assert (outcome.error_type, outcome.error) == ("ERROR_NOT_READABLE", "Trap, which cannot be read: SystemExit")
    assert outcome.duration_ms == 12


def test_a_value_whose_own_code_asks_to_exit_cannot_be_kept() -> None:
    class Snare(dict[str, int]):
        def items(self) -> NoReturn:
            sys.exit(6)

        __iter__ = items

    with pytest.raises(NotStorable, match="SystemExit"):
        kept(Snare(a=1), limit=10)


async def test_an_exit_with_a_code_that_asks_to_exit_is_a_failure_like_any_other() -> None:
    async def handler(_: object) -> None:
        sys.exit(Leaving())  # type: ignore[arg-type]

    with pytest.raises(HandlerFailed, match="a Leaving that cannot be written: SystemExit"):
        await call(handler, cast("HandlerContext", None))
