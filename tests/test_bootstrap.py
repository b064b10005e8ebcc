from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

import tocsin
from tests.end_to_end.waiting import until
from tocsin.adapters.system import ManualClock
from tocsin.bootstrap import assemble
from tocsin.domain.errors import InvalidInput
from tocsin.domain.execution import ExecutionStatus
from tocsin.settings import load_settings


@pytest.mark.parametrize(("url", "seconds"), [("memory://", 5), ("sqlite:///{}/tocsin.db", 1)])
async def test_a_node_looks_more_often_where_processes_share_no_bell(url: str, seconds: int, tmp_path: Path) -> None:
    settings = load_settings({"database_url": url.format(tmp_path)}, environment={})

    async with assemble(settings, ManualClock()) as assembly:
        limits = assembly.node.limits

    assert (limits.wake_seconds, limits.dispatch_grace) == (seconds, timedelta(seconds=seconds))


@pytest.mark.parametrize(("pooler", "seconds"), [("false", 5), ("true", 1)])
async def test_a_node_looks_more_often_behind_a_pooler(postgres_url: str, pooler: str, seconds: int) -> None:
    settings = load_settings({"database_url": postgres_url, "database_pooler": pooler}, environment={})

    async with assemble(settings, ManualClock()) as assembly:
        limits = assembly.node.limits

    assert (limits.wake_seconds, limits.dispatch_grace) == (seconds, timedelta(seconds=seconds))


@pytest.mark.parametrize(
    "url", ["redis://127.0.0.1:1", "rediss+sentinel://127.0.0.1:1/master", "redis+cluster://127.0.0.1:1"]
)
async def test_a_node_is_assembled_before_its_redis_is_there(postgres_url: str, url: str) -> None:
    settings = load_settings({"database_url": postgres_url, "redis_url": url}, environment={})

    async with assemble(settings, ManualClock()) as assembly:
        assert assembly.node.parts.dispatcher.is_shared


@pytest.mark.parametrize("url", ["http://127.0.0.1", "redis+sentinel://127.0.0.1"])
async def test_a_url_of_redis_that_is_of_no_use_is_refused_by_name(postgres_url: str, url: str) -> None:
    settings = load_settings({"database_url": postgres_url, "redis_url": url}, environment={})

    with pytest.raises(InvalidInput) as refusal:
        async with assemble(settings, ManualClock()):
            pass

    assert [error.field for error in refusal.value.errors] == ["redis_url"]


async def test_a_function_can_be_registered_as_what_events_call(tmp_path: Path) -> None:
    heard: list[object] = []

    @tocsin.on_event("bootstrap.*", name="bootstrap.heard", filter="event.data > 1")
    async def hear(payload: dict[str, dict[str, object]]) -> None:
        heard.append(payload["event"]["data"])

    url = f"sqlite:///{tmp_path}/tocsin.db"
    for number in (1, 2, 3):
        # A restart declares it again, which changes nothing.
        async with tocsin.open_scheduler(url, run_loops=True) as scheduler:
            outcome = await scheduler.trigger_event("bootstrap.started", number)
            assert outcome.matched == (number > 1)

            async def ended(ids: Sequence[UUID] = outcome.execution_ids) -> bool:
                executions = [await scheduler.get_execution(id_) for id_ in ids]
                return all(each.status is ExecutionStatus.SUCCESS for each in executions)

            await until(ended)
            [handler] = (await scheduler.list_event_handlers()).items

    assert heard == [2, 3]
    assert (handler.definition.key, handler.version) == ("function/bootstrap.heard", 1)
