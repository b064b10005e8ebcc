"""The dashboard: pages for people, which the node serves itself from files of this package."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from aiohttp import web

from ..node import NODE
from .assets import Asset, Dashboard, load_dashboard
from .documents import PAGES

__all__ = ["FILES", "PAGES", "SURROUNDINGS", "Dashboard", "add_dashboard", "load_dashboard"]

FILES: Final = "/assets/{digest}/{name}"
"""What pages are made of, under the digest of all of it together."""

SURROUNDINGS: Final = "/dashboard/surroundings"
"""What the dashboard has to know of its node before any scheduler is asked: where a trace is shown."""

_FOREVER: Final = "public, max-age=31536000, immutable"
_ASK_FIRST: Final = "no-cache"


def add_dashboard(app: web.Application) -> None:
    """Serve every page, and the files that they are made of; neither belongs to the interface."""
    app.on_startup.append(_load)
    for path in PAGES:
        app.router.add_get(path, _answer_page)
    app.router.add_get(FILES.replace("{name}", "{name:.+}"), _answer_file)
    app.router.add_get(SURROUNDINGS, _answer_surroundings)


async def _load(_: web.Application) -> None:
    """Read and compress everything before anybody asks, so that each answer is at hand."""
    await asyncio.to_thread(load_dashboard)


async def _answer_page(request: web.Request) -> web.Response:
    """Answer the document of a page, under the Content-Security-Policy that all share."""
    dashboard = load_dashboard()
    resource = request.match_info.route.resource
    page = dashboard.pages[resource.canonical if resource is not None else "/"]
    return _answer(request, page, caching=_ASK_FIRST, policy=dashboard.policy)


async def _answer_file(request: web.Request) -> web.Response:
    """Answer a file; under another node's digest, as while a fleet is upgraded, the file is this node's own."""
    dashboard = load_dashboard()
    asset = dashboard.files.get(request.match_info["name"])
    if asset is None:
        raise web.HTTPNotFound
    is_current = request.match_info["digest"] == dashboard.digest
    return _answer(request, asset, caching=_FOREVER if is_current else _ASK_FIRST)


async def _answer_surroundings(request: web.Request) -> web.Response:
    """Answer `{"trace_url"}`, null where no place is named."""
    return web.json_response({"trace_url": request.app[NODE].trace_url}, headers={"Cache-Control": _ASK_FIRST})


def _answer(request: web.Request, asset: Asset, *, caching: str, policy: str | None = None) -> web.Response:
    headers = {"Cache-Control": caching, "ETag": f'"{asset.digest}"', "Vary": "Accept-Encoding"}
    if policy is not None:
        headers["Content-Security-Policy"] = policy
    if any(tag.value in {asset.digest, "*"} for tag in request.if_none_match or ()):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    body = asset.body
    if asset.compressed is not None and _takes_gzip(request):
        body = asset.compressed
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=body, headers={**headers, "Content-Type": asset.media_type})


def _takes_gzip(request: web.Request) -> bool:
    """Tell whether a client names gzip among what it reads (RFC 9110, 12.5.3)."""
    for coding in ",".join(request.headers.getall("Accept-Encoding", ())).lower().split(","):
        name, _, weight = coding.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
