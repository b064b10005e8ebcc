"""The HTTP face put together: endpoints, and what stands around each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler

from ...domain.errors import StoreUnavailable
from .batches import BATCHES
from .dashboard import add_dashboard
from .documentation import DESCRIBED, DOCUMENTATION, Described, describe
from .endpoint import Endpoint
from .event_handlers import EVENT_HANDLERS
from .events import EVENTS
from .executions import EXECUTIONS
from .fleet import FLEET, PROBES
from .jobs import JOBS
from .node import NODE, Node
from .overviews import OVERVIEWS
from .problems import answer_errors
from .schedules import SCHEDULES
from .security import add_security_headers, guard
from .streams import DEADLINE, STREAMS, Streams, close_streams
from .trace import add_traceparent, trace_requests

BODY_LIMIT: Final = 1024 * 1024
"""The largest body in bytes, however it is framed."""

SECTIONS: Final = (OVERVIEWS, BATCHES, JOBS, EXECUTIONS, SCHEDULES, EVENTS, EVENT_HANDLERS, FLEET, DOCUMENTATION)


def create_app(node: Node) -> web.Application:
    """Make an application that serves a node; whoever made the node also opens and closes it."""
    app = _serving(node, [endpoint for section in SECTIONS for endpoint in section.endpoints])
    app[STREAMS] = Streams()
    app[DESCRIBED] = lambda: _described(node.version)
    add_dashboard(app)
    app.on_shutdown.append(close_streams)
    return app


def create_probes(node: Node) -> web.Application:
    """Make an application that tells how a node is and nothing else, for a port that only watchers reach."""
    return _serving(node, PROBES)


def _serving(node: Node, endpoints: Sequence[Endpoint[Any, Any]]) -> web.Application:
    app = web.Application(
        middlewares=[trace_requests, answer_errors, guard, give_up_in_time], client_max_size=BODY_LIMIT
    )
    app[NODE] = node
    for endpoint in endpoints:
        app.router.add_route(endpoint.method, endpoint.path, endpoint.__call__)
        if endpoint.method == "GET":
            app.router.add_route("HEAD", endpoint.path, endpoint.__call__)
    app.on_response_prepare.append(add_security_headers)
    app.on_response_prepare.append(add_traceparent)
    return app


@cache
def _described(version: str) -> Described:
    return describe(SECTIONS, version=version)


@web.middleware
async def give_up_in_time(request: web.Request, handler: Handler) -> web.StreamResponse:
    """
    Answer 503 when a request takes too long, so that a store that hangs does not hold its callers.

    A stream, once it has begun, may take as long as it likes.

    Raises:
        StoreUnavailable: the deadline passed.
    """
    seconds = request.app[NODE].deadline_seconds
    try:
        async with asyncio.timeout(seconds) as request[DEADLINE]:
            return await handler(request)
    except TimeoutError:
        raise StoreUnavailable(f"no answer within {seconds:g} s; what was asked for may still have happened") from None
