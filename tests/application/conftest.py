from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.application.rig import Rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    async with rig.handlers:
        yield rig
