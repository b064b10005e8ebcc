from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.application.rig import Rig
from tocsin.adapters.cel import open_cel


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with open_cel() as expressions:
        rig = Rig(expressions)
        async with rig.handlers:
            yield rig
