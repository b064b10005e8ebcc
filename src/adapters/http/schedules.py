"""What may be asked about schedules that are no job yet."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from .answers import json_answer
from .endpoint import Call, Section, endpoint
from .wire import BASE
from .wire.model import Nothing
from .wire.schedules import PreviewIn, PreviewOut


@endpoint("POST", f"{BASE}/schedules/preview", {200: PreviewOut})
async def preview_schedule(call: Call[Nothing, PreviewIn]) -> web.Response:
    """Show the next fires of a schedule, in words what is shifted, doubled or left out."""
    preview = await call.scheduler.preview(call.body.timing(), after=call.body.after, count=call.body.count)
    return json_answer(PreviewOut.of(preview))


SCHEDULES: Final = Section(name="Schedules", endpoints=(preview_schedule,))
