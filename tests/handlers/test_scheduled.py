from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import pytest

from tocsin.adapters.handlers.functions import FunctionRegistry
from tocsin.adapters.handlers.scheduled import CodeJob, ScheduledFunctions, qualified
from tocsin.domain.errors import Conflict, InvalidInput
from tocsin.domain.json import Json


@pytest.fixture
def registry() -> FunctionRegistry:
    return FunctionRegistry()


@pytest.fixture
def functions(registry: FunctionRegistry) -> ScheduledFunctions:
    return ScheduledFunctions(registry)


def only(functions: ScheduledFunctions) -> CodeJob:
    [job] = functions.jobs
    return job


def a_function() -> Callable[[], None]:
    def work() -> None: ...

    return work


def test_a_function_is_a_handler_and_a_job_under_its_own_name(
    functions: ScheduledFunctions, registry: FunctionRegistry
) -> None:
    @functions.every("15m")
    def send() -> None: ...

    own = f"{__name__}.test_a_function_is_a_handler_and_a_job_under_its_own_name.<locals>.send"
    job = only(functions)
    assert registry.names() == {own}
    assert (job.module, job.declaration.key, job.declaration.handler_name) == (__name__, own, own)


def test_only_what_the_code_says_is_stated(functions: ScheduledFunctions) -> None:
    functions.cron("0 2 * * *", timezone="Europe/Berlin", name="send", tags=("night",), max_retries=0)(a_function())

    assert only(functions).declaration.fields == {
        "name": "send",
        "handler_name": "send",
        "type": "cron",
        "schedule": "0 2 * * *",
        "timezone": "Europe/Berlin",
        "tags": ["night"],
        "max_retries": 0,
    }
    assert not only(functions).declaration.is_whole


@pytest.mark.parametrize(
    ("length", "schedule"),
    [
        ("15m", "every 15m"),
        ("every 6 hours", "every 6 hours"),
        ("PT6H", "PT6H"),
        (timedelta(minutes=90), "every 1 hour 30 minutes"),
    ],
)
def test_a_length_is_written_in_any_form(
    functions: ScheduledFunctions, length: str | timedelta, schedule: Json
) -> None:
    functions.every(length, name="send")(a_function())

    assert only(functions).declaration.fields["schedule"] == schedule


@pytest.mark.parametrize(
    ("declare", "field"),
    [
        (lambda functions: functions.every("often"), "schedule"),
        (lambda functions: functions.every(15), "schedule"),
        (lambda functions: functions.cron("every 15m"), "schedule"),
        (lambda functions: functions.cron("* *"), "schedule"),
        (lambda functions: functions.every("15m", timeout_ms=5), "timeout_ms"),
        (lambda functions: functions.every("15m", key="x" * 129), "key"),
        (lambda functions: functions.every("15m", name="tocsin.mine"), "name"),
    ],
)
def test_what_cannot_be_declared_is_refused_where_it_stands(
    functions: ScheduledFunctions,
    declare: Callable[[ScheduledFunctions], Callable[[Callable[[], None]], object]],
    field: str,
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        declare(functions)(a_function())

    assert [error.field for error in refusal.value.errors] == [field]
    assert functions.jobs == []


def test_one_function_may_have_two_jobs_under_keys_of_their_own(functions: ScheduledFunctions) -> None:
    work = a_function()

    functions.every("15m", name="send")(functions.cron("0 2 * * *", name="send", key="nightly")(work))

    assert [job.declaration.key for job in functions.jobs] == ["nightly", "send"]


def test_two_jobs_of_one_key_are_refused(functions: ScheduledFunctions) -> None:
    work = functions.every("15m", name="send")(a_function())

    with pytest.raises(Conflict, match="'send' is declared twice"):
        functions.every("20m", name="send")(work)


def test_a_long_name_gives_a_key_that_fits(functions: ScheduledFunctions) -> None:
    functions.every("15m", name="a" * 100 + "b" * 100)(a_function())

    assert only(functions).declaration.key == "a" * 28 + "b" * 100


@pytest.mark.parametrize(
    ("main", "module"),
    [
        (SimpleNamespace(__spec__=None, __file__="/srv/app/reports.py"), "reports"),
        (SimpleNamespace(__spec__=SimpleNamespace(name="app.reports"), __file__="x"), "app.reports"),
        (SimpleNamespace(__spec__=SimpleNamespace(name="app.__main__"), __file__="x"), "app"),
        (SimpleNamespace(), "__main__"),
    ],
)
def test_a_program_and_the_module_that_it_is_name_a_function_alike(
    main: object, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = a_function()
    work.__module__, work.__qualname__ = "__main__", "send"
    monkeypatch.setitem(sys.modules, "__main__", main)

    assert qualified(work) == f"{module}.send"
