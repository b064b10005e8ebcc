"""W3C Trace Context: a request's trace goes on in its answer, under a span of its own."""

from __future__ import annotations

from http import HTTPMethod, HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

from ...domain.trace import TraceContext, read_trace_context
from ...ports.telemetry import Attribute, SpanKind, SpanStart
from .node import NODE
from .wire import BASE

SPAN: Final = web.RequestKey("span", TraceContext)

_METHODS: Final = frozenset(method.value for method in HTTPMethod)


@web.middleware
async def trace_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Serve what is asked of the API under a span; probes and pages need none."""
    if not request.path.startswith(BASE):
        return await handler(request)
    with request.app[NODE].telemetry.span(_start(request)) as span:
        request[SPAN] = span.context
        response = await handler(request)
        span.set("http.response.status_code", response.status)
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            span.fail(f"answered {response.status}", error_type=str(response.status))
        return response


async def add_traceparent(request: web.Request, response: web.StreamResponse) -> None:
    """Tell the caller under which trace and span its request was served."""
    if SPAN in request:
        response.headers["traceparent"] = request[SPAN].traceparent


def caller_of(request: web.Request) -> TraceContext | None:
    """Read under which span the caller asks; None if it names none, or several."""
    named = request.headers.getall("traceparent", [])
    tracestate = ",".join(request.headers.getall("tracestate", []))
    return read_trace_context(named[0], tracestate) if len(named) == 1 else None


def _start(request: web.Request) -> SpanStart:
    """Word a span as OpenTelemetry's conventions for HTTP servers have it; a query may hold secrets and is left out."""
    method = request.method if request.method in _METHODS else "_OTHER"
    attributes: dict[str, Attribute] = {
        "http.request.method": method,
        "url.scheme": request.scheme,
        "url.path": request.path,
        **_server(request),
    }
    name = "HTTP" if method == "_OTHER" else method
    resource = request.match_info.route.resource
    if resource is not None:
        attributes["http.route"] = resource.canonical
        name = f"{name} {resource.canonical}"
    return SpanStart(name=name, kind=SpanKind.SERVER, parent=caller_of(request), attributes=attributes)


def _server(request: web.Request) -> dict[str, Attribute]:
    """Tell what the caller calls this node; whether it may is for others to say."""
    try:
        url = URL(f"{request.scheme}://{request.host}")
    except ValueError:
        return {}
    return {"server.address": url.host or "", "server.port": url.port or 0}
