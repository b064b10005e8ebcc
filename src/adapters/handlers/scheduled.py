"""Functions that say themselves when they run: the decorators `every` and `cron`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack, cast

from ...domain.definition import TEXT_BOUNDS, document, validate
from ...domain.errors import Conflict, InvalidInput
from ...domain.job import JobDefinition, JobType
from ...domain.reconciliation import Declaration
from ...domain.schedule import Interval
from ...domain.timing import schedule_of
from ...ports.job_options import RunOptions
from .functions import FunctionRegistry, default_registry

Function = TypeVar("Function", bound=Callable[..., object])

_KEY_LIMIT: Final = TEXT_BOUNDS["key"][1]
_SELF_NAMED: Final = ("every", "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeJob:
    """The job of a function: in which module it was declared, and as what."""

    module: str
    declaration: Declaration


class ScheduledFunctions:
    """
    Functions with the jobs that they declare. Most programs need only `every` and `cron` of this module.

    Each job is made when a node starts that runs handlers, and brought up to date where it differs: what the code
    states wins, what it does not is left to people, and what is paused stays paused.
    """

    def __init__(self, registry: FunctionRegistry) -> None:
        self._registry = registry
        self._jobs: dict[str, CodeJob] = {}

    @property
    def jobs(self) -> Sequence[CodeJob]:
        """What was declared so far."""
        return list(self._jobs.values())

    def every(
        self,
        length: str | timedelta,
        *,
        name: str | None = None,
        key: str | None = None,
        **options: Unpack[RunOptions],
    ) -> Callable[[Function], Function]:
        """
        Run the decorated function every `15m`, `6 hours`, `PT6H` or timedelta.

        It is registered as a handler, as `handler` says, under `name`, else under its own name with its module. `key`,
        else that name, is who the job is: a job whose key changes is another job.

        Raises:
            InvalidInput: the length, the name, the function or an option does not qualify.
            Conflict: another function has the name, or another job the key.
        """
        return self._declared({"type": JobType.INTERVAL, "schedule": _interval(length)}, name, key, options)

    def cron(
        self,
        expression: str,
        *,
        timezone: str = "UTC",
        name: str | None = None,
        key: str | None = None,
        **options: Unpack[RunOptions],
    ) -> Callable[[Function], Function]:
        """Run the decorated function by a cron of 5 fields, or 6 with seconds first; otherwise as `every`."""
        when = {"type": JobType.CRON, "schedule": expression, "timezone": timezone}
        return self._declared(when, name, key, options)

    def _declared(
        self, when: Mapping[str, Any], name: str | None, key: str | None, options: RunOptions
    ) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            own = name or qualified(function)
            who = key or own[-_KEY_LIMIT:]
            if who in self._jobs:
                raise Conflict(f"the key {who!r} is declared twice; give one of the two another key")
            fields = {"name": own, "handler_name": own, **when, **options}
            job = CodeJob(module=_module(function), declaration=_declaration(who, fields))
            self._registry.handler(own)(function)
            self._jobs[who] = job
            return function

        return register


default_schedules: Final = ScheduledFunctions(default_registry)
every = default_schedules.every
cron = default_schedules.cron


def qualified(function: Callable[..., object]) -> str:
    """Name a function with its module, the same whether that was imported or is the program itself."""
    return f"{_module(function)}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def _module(function: Callable[..., object]) -> str:
    if function.__module__ != "__main__":
        return function.__module__
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:
        return str(spec.name).removesuffix(".__main__")
    return "__main__" if file is None else Path(file).stem


def _declaration(key: str, fields: Mapping[str, Any]) -> Declaration:
    definition = validate(JobDefinition(**cast("Any", {**fields, "key": key})))
    if schedule_of(definition) is None:
        raise InvalidInput.of("schedule", "is required")
    written = document(definition)
    stated = {name: written[name] for name in fields}
    return Declaration(key=key, handler_name=definition.handler_name, fields=stated, is_whole=False)


def _interval(length: str | timedelta) -> str:
    if isinstance(length, timedelta):
        return str(Interval(length))
    if not isinstance(length, str):
        raise InvalidInput.of("schedule", 'must be a length of time such as "15m", or a timedelta')
    return length if length.strip().lower().startswith(_SELF_NAMED) else f"every {length}"
