from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.handlers.contexts import a_context
from tests.handlers.server import LOOPBACK, serving
from tests.handlers.test_http import echo
from tocsin.adapters.handlers.catalog import LocalHandlers
from tocsin.adapters.handlers.command import CommandHandler
from tocsin.adapters.handlers.functions import FunctionRegistry
from tocsin.adapters.handlers.targets import TargetPolicy
from tocsin.domain.errors import HandlerNotFound, InvalidJob
from tocsin.domain.job import HandlerType
from tocsin.domain.json import Json
from tocsin.ports.handlers import Handlers

BUILT_IN = {"tocsin.health_check", "tocsin.http_probe", "tocsin.noop", "tocsin.retention"}


async def healthy() -> Mapping[str, Json]:
    return {"status": "healthy"}


async def nothing_removed() -> Mapping[str, Json]:
    return {"executions": 0}


@asynccontextmanager
async def handlers(*, commands: CommandHandler | None = None, names: tuple[str, ...] = ()) -> AsyncIterator[Handlers]:
    functions = FunctionRegistry()
    for name in names:
        functions.handler(name)(lambda: "done")
    async with LocalHandlers(
        health=healthy,
        retention=nothing_removed,
        functions=functions,
        targets=TargetPolicy.allowing(LOOPBACK),
        commands=commands,
    ) as opened:
        yield opened


async def test_a_node_can_run_its_own_handlers_and_those_of_its_registry() -> None:
    async with handlers(names=("report",)) as local:
        assert local.capabilities() == {"http", "function/report"} | {f"function/{name}" for name in BUILT_IN}
        assert await local.resolve(HandlerType.FUNCTION, "report")(a_context()) == "done"


async def test_the_built_in_handlers_do_their_work() -> None:
    async with handlers() as local:
        assert await local.resolve(HandlerType.FUNCTION, "tocsin.health_check")(a_context()) == {"status": "healthy"}
        assert await local.resolve(HandlerType.FUNCTION, "tocsin.retention")(a_context()) == {"executions": 0}
        assert await local.resolve(HandlerType.FUNCTION, "tocsin.noop")(a_context()) is None


async def test_http_jobs_and_probes_share_the_guarded_client() -> None:
    async with serving(echo) as url, handlers() as local:
        call = await local.resolve(HandlerType.HTTP, "http")(a_context({"method": "GET", "url": str(url)}))
        probe = await local.resolve(HandlerType.FUNCTION, "tocsin.http_probe")(a_context({"url": str(url)}))

    assert isinstance(call, dict)
    assert isinstance(probe, dict)
    assert (call["status"], probe["status"]) == (200, 200)


async def test_an_unknown_function_is_not_found_beside_the_known_ones() -> None:
    async with handlers(names=("report",)) as local:
        with pytest.raises(HandlerNotFound) as refusal:
            local.resolve(HandlerType.FUNCTION, "raport")

    assert refusal.value.known == ("http", "report", *sorted(BUILT_IN))


async def test_an_unknown_function_is_left_to_other_nodes() -> None:
    async with handlers() as local:
        local.check(HandlerType.FUNCTION, "elsewhere", {"any": "payload"})


@pytest.mark.parametrize("handler_type", [HandlerType.AGENT, HandlerType.WORKFLOW])
async def test_a_type_that_does_not_exist_yet_is_refused(handler_type: HandlerType) -> None:
    async with handlers() as local:
        with pytest.raises(InvalidJob) as refusal:
            local.check(handler_type, "any", None)
        with pytest.raises(HandlerNotFound):
            local.resolve(handler_type, "any")

    (error,) = refusal.value.errors
    assert error.field == "handler_type"
    assert error.message == f"{handler_type.value!r} is not available on this node (available: function, http)"


async def test_commands_are_refused_with_the_setting_that_allows_them() -> None:
    async with handlers() as local:
        with pytest.raises(InvalidJob, match=r"handler_type: .*TOCSIN_ALLOW_COMMANDS=true"):
            local.check(HandlerType.COMMAND, "command", {"argv": ["true"]})
        with pytest.raises(HandlerNotFound):
            local.resolve(HandlerType.COMMAND, "command")


async def test_commands_run_where_they_are_allowed() -> None:
    async with handlers(commands=CommandHandler({})) as local:
        local.check(HandlerType.COMMAND, "command", {"shell": "exit 0"})
        result = await local.resolve(HandlerType.COMMAND, "command")(a_context({"shell": "exit 0"}))

        assert "command" in local.capabilities()
        assert isinstance(result, dict)
        assert result["exit_code"] == 0


@pytest.mark.parametrize(
    ("handler_type", "name", "payload"),
    [
        (HandlerType.HTTP, "http", {"method": "GET", "url": "http://10.0.0.1/"}),
        (HandlerType.FUNCTION, "tocsin.http_probe", {"url": "http://10.0.0.1/"}),
        (HandlerType.COMMAND, "command", {"shell": "exit 0", "url": "http://10.0.0.1/"}),
    ],
)
async def test_a_payload_is_checked_by_the_handler_that_will_get_it(
    handler_type: HandlerType,
    name: str,
    payload: Json,
) -> None:
    async with handlers(commands=CommandHandler({})) as local:
        with pytest.raises(InvalidJob) as refusal:
            local.check(handler_type, name, payload)

    assert [error.field for error in refusal.value.errors] == ["payload.url"]
