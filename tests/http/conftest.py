"""A node in memory, listening on a port of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.http.nodes import Api, StillNode, node_in_memory, serving


@pytest.fixture
async def node() -> AsyncIterator[StillNode]:
    async with node_in_memory() as node:
        yield node


@pytest.fixture
async def api(node: StillNode) -> AsyncIterator[Api]:
    async with serving(node.face()) as api:
        yield api
