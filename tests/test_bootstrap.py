from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tocsin.adapters.system import ManualClock
from tocsin.bootstrap import assemble
from tocsin.settings import load_settings


@pytest.mark.parametrize(("url", "seconds"), [("memory://", 5), ("sqlite:///{}/tocsin.db", 1)])
async def test_a_node_looks_more_often_where_processes_share_no_bell(url: str, seconds: int, tmp_path: Path) -> None:
    settings = load_settings({"database_url": url.format(tmp_path)}, environment={})

    async with assemble(settings, ManualClock()) as assembly:
        limits = assembly.node.limits

    assert (limits.wake_seconds, limits.dispatch_grace) == (seconds, timedelta(seconds=seconds))
