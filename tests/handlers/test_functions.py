from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

import pytest

from tests.handlers.contexts import a_context
from tocsin.adapters.handlers.functions import FunctionRegistry, default_registry, handler
from tocsin.adapters.handlers.threads import Threads
from tocsin.domain.errors import Conflict, InvalidInput
from tocsin.domain.json import Json
from tocsin.ports.handlers import HandlerContext


async def run(function: Callable[..., object], payload: Json = None) -> object:
    registry = FunctionRegistry()
    registry.handler("work")(function)
    found = registry.resolve("work", Threads())
    assert found
    return await found(a_context(payload))


async def test_an_async_function_gets_the_context() -> None:
    async def work(context: HandlerContext) -> int:
        return context.attempt

    assert await run(work) == 2


async def test_a_plain_function_gets_the_context_in_a_thread() -> None:
    def work(context: HandlerContext) -> tuple[int, bool]:
        return context.attempt, threading.current_thread() is threading.main_thread()

    assert await run(work) == (2, False)


async def test_a_parameter_named_payload_gets_the_payload() -> None:
    async def work(payload: dict[str, int]) -> int:
        return payload["rows"]

    assert await run(work, {"rows": 3}) == 3


async def test_a_function_without_parameters_gets_nothing() -> None:
    assert await run(lambda: "done") == "done"


async def test_defaults_are_left_alone() -> None:
    def work(context: HandlerContext, retries: int = 3, *, loud: bool = False, **_: object) -> tuple[int, int, bool]:
        return context.attempt, retries, loud

    assert await run(work) == (2, 3, False)
    assert await run(lambda size=7: size) == 7


async def test_a_function_that_takes_anything_gets_the_context() -> None:
    def work(*arguments: object) -> tuple[object, ...]:
        return arguments

    result = await run(work)

    assert isinstance(result, tuple)
    assert [type(argument) for argument in result] == [HandlerContext]


async def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    class Worker:
        async def __call__(self, context: HandlerContext) -> int:
            return context.attempt

        def plain(self, context: HandlerContext) -> int:
            return context.attempt

    async def work(prefix: str, payload: str) -> str:
        return prefix + payload

    assert await run(Worker()) == 2
    assert await run(Worker().plain) == 2
    assert await run(partial(work, "to"), "csin") == "tocsin"


async def test_a_plain_function_may_answer_with_an_awaitable() -> None:
    async def real() -> str:
        return "awaited"

    def wrapped() -> Awaitable[str]:
        return real()

    assert await run(wrapped) == "awaited"


async def test_an_async_function_is_cancelled_as_a_task() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(run(work))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_registering_leaves_the_function_as_it_is() -> None:
    def work() -> None: ...

    assert FunctionRegistry().handler("work")(work) is work


def test_one_function_may_have_two_names_and_come_twice() -> None:
    registry = FunctionRegistry()

    def work() -> None: ...

    for name in ("one", "two", "two"):
        registry.handler(name)(work)

    assert registry.names() == {"one", "two"}


def test_two_functions_cannot_share_a_name() -> None:
    registry = FunctionRegistry()
    registry.handler("work")(len)

    with pytest.raises(Conflict, match=r"'work' is already builtins\.len, so not builtins\.sorted"):
        registry.handler("work")(sorted)


@pytest.mark.parametrize("name", ["", "x" * 256, " x", "x\n", "a\0b", "tocsin.mine"])
def test_a_name_out_of_bounds_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        FunctionRegistry().handler(name)(lambda: None)


@pytest.mark.parametrize("name", ["x", "x" * 255, "reports.nightly", "Täglich neu"])
def test_a_name_within_bounds_is_taken(name: str) -> None:
    registry = FunctionRegistry()
    registry.handler(name)(lambda: None)

    assert registry.names() == {name}


def two(_one: object, _two: object) -> None: ...


def by_keyword(*, payload: object) -> None:
    del payload


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [two, by_keyword, generator, async_generator])
def test_a_function_that_could_not_be_called_is_refused(function: Callable[..., object]) -> None:
    with pytest.raises(InvalidInput, match="handler: 'work' must"):
        FunctionRegistry().handler("work")(function)


def test_an_unknown_name_resolves_to_nothing() -> None:
    assert FunctionRegistry().resolve("nobody", Threads()) is None


def test_the_decorator_writes_to_the_registry_of_the_process() -> None:
    @handler("tests.handlers.a_function")
    def _work() -> None: ...

    assert "tests.handlers.a_function" in default_registry.names()


def test_a_decorator_without_a_name_is_refused_at_once() -> None:
    def send() -> None: ...

    with pytest.raises(InvalidInput, match=r'name: is missing: write @tocsin\.handler\("send"\)'):
        FunctionRegistry().handler(send)  # type: ignore[arg-type]  # what is refused
