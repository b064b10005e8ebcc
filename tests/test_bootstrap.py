from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tocsin.adapters.system import ManualClock
from tocsin.bootstrap import assemble
from tocsin.domain.errors import InvalidInput
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
