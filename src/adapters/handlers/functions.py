"""Functions as handlers: the decorator, and the registry that it writes to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypedDict, TypeVar, Unpack

from ...domain.errors import Conflict, InvalidInput
from ...domain.event import Call, EventHandlerDefinition, EventHandlerMode
from ...domain.flow import FlowControl
from ...ports.handlers import Handler, HandlerContext
from .threads import Threads

RESERVED_PREFIX: Final = "tocsin."
KEY_LIMIT: Final = 128
_NAME_LIMIT: Final = 255

Function = TypeVar("Function", bound=Callable[..., object])
_Arguments = Callable[[HandlerContext], tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    function: Callable[..., Any]
    arguments: _Arguments
    is_async: bool

    async def run(self, threads: Threads, context: HandlerContext) -> object:
        arguments = self.arguments(context)
        if self.is_async:
            return await self.function(*arguments)
        result = await threads.call(partial(self.function, *arguments), name=f"tocsin {self.name}")
        return await result if inspect.isawaitable(result) else result


class SubscriptionOptions(TypedDict, total=False):
    """What a function may say beside the pattern of its events (`domain.event.EventHandlerDefinition`)."""

    filter: str | None
    mode: EventHandlerMode
    priority: int
    every_tenant: bool
    flow: FlowControl


class FunctionRegistry:
    """
    Functions by handler name. Most programs need only `default_registry`, which `handler` writes to.

    One with another `behind` it has the functions of both, and adds only to itself.
    """

    def __init__(self, behind: FunctionRegistry | None = None) -> None:
        self._behind = behind
        self._entries: dict[str, _Entry] = {}
        self._subscriptions: dict[str, EventHandlerDefinition] = {}

    def handler(self, name: str) -> Callable[[Function], Function]:
        """
        Register the decorated function, async or plain, under a name of 1 to 255 characters.

        A function with a required parameter is called with the `HandlerContext`, or with the payload
        if the parameter is named `payload`; one without is called with nothing. What it returns is the
        result. A plain function runs in a thread.

        Raises:
            InvalidInput: the name or the function does not qualify; at once if a function stands for the name.
            Conflict: another function has the name.
        """
        if not isinstance(name, str):
            # Without parentheses the function is decorated with a decorator that never learns its name.
            raise InvalidInput.of("name", f'is missing: write @tocsin.handler("{_suggested(name)}")')

        def register(function: Function) -> Function:
            self._add(name, function)
            return function

        return register

    def on_event(
        self, event: str, *, name: str | None = None, **options: Unpack[SubscriptionOptions]
    ) -> Callable[[Function], Function]:
        """
        Register the decorated function as a handler, and as what events of a pattern call.

        Its name is `name`, or that of the function with its module. The event handler, whose key is
        `function/NAME`, is brought up to date in the store when a node starts that runs handlers. The function is
        called as `handler` says, and finds the event under `event` in its payload.

        Raises:
            InvalidInput, Conflict: as for `handler`.
        """

        def register(function: Function) -> Function:
            own = name or _described(function)
            self._add(own, function)
            self._subscriptions[own] = EventHandlerDefinition(
                event=event, name=own, key=f"function/{own}"[-KEY_LIMIT:], action=Call(handler_name=own), **options
            )
            return function

        return register

    @property
    def subscriptions(self) -> Sequence[EventHandlerDefinition]:
        """The event handlers that functions were registered as."""
        return [*(self._behind.subscriptions if self._behind else ()), *self._subscriptions.values()]

    def resolve(self, name: str, threads: Threads) -> Handler | None:
        """Find the handler of that name; a plain function will run in `threads`."""
        entry = self.find(name)
        return None if entry is None else partial(entry.run, threads)

    def names(self) -> frozenset[str]:
        """List the registered names."""
        return frozenset(self._entries) | (self._behind.names() if self._behind else frozenset())

    def find(self, name: str) -> _Entry | None:
        """Find what is registered under a name."""
        return self._entries.get(name) or (self._behind.find(name) if self._behind else None)

    def _add(self, name: str, function: Callable[..., object]) -> None:
        _check_name(name)
        entry = _Entry(name, function, _arguments(name, function), _is_async(function))
        known = self.find(name)
        if known is None:
            self._entries[name] = entry
        elif known.function is not function:
            raise Conflict(f"handler {name!r} is already {_described(known.function)}, so not {_described(function)}")


default_registry: Final = FunctionRegistry()
handler = default_registry.handler
on_event = default_registry.on_event


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= _NAME_LIMIT or not name.isprintable() or name != name.strip():
        raise InvalidInput.of("name", f"must be 1 to {_NAME_LIMIT} printable characters, without spaces around them")
    if name.startswith(RESERVED_PREFIX):
        raise InvalidInput.of("name", f"names that start with {RESERVED_PREFIX!r} are Tocsin's own")


def _suggested(function: object) -> str:
    return str(getattr(function, "__name__", "reports.send"))


def _arguments(name: str, function: Callable[..., object]) -> _Arguments:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidInput.of("handler", f"{name!r} must return its result; it cannot be a generator")
    required = [p for p in inspect.signature(function).parameters.values() if _is_required(p)]
    match required:
        case []:
            return _nothing
        case [parameter] if parameter.kind is not parameter.KEYWORD_ONLY:
            return _payload if parameter.name == "payload" else _context
        case _:
            raise InvalidInput.of("handler", f"{name!r} must take nothing, or one argument: the context or the payload")


def _is_required(parameter: inspect.Parameter) -> bool:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return True
    return parameter.kind is not parameter.VAR_KEYWORD and parameter.default is parameter.empty


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _described(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def _nothing(_: HandlerContext) -> tuple[object, ...]:
    return ()


def _context(context: HandlerContext) -> tuple[object, ...]:
    return (context,)


def _payload(context: HandlerContext) -> tuple[object, ...]:
    return (context.payload,)
