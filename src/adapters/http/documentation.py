"""The document and the reference that is made from it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from .endpoint import Call, Section, endpoint
from .openapi import document
from .reference import content_security_policy, load_style, page
from .streams import DEADLINE
from .wire.model import Nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The document as JSON, and the reference as HTML under its Content-Security-Policy."""

    document: bytes
    reference: bytes
    policy: str


DESCRIBED: Final[web.AppKey[Callable[[], Described]]] = web.AppKey("described")
"""Writes both when first asked, which takes a while, and keeps them."""


def describe(sections: Sequence[Section], *, version: str) -> Described:
    """Write both."""
    described = document(sections, version=version)
    style = load_style()
    return Described(
        document=json.dumps(described).encode(),
        reference=page(described, style=style).encode(),
        policy=content_security_policy(style),
    )


@endpoint("GET", "/openapi.json", {200: "application/json"})
async def get_document(call: Call[Nothing, Nothing]) -> web.Response:
    """Describe this interface as an OpenAPI document."""
    described = await _described(call.request)
    return web.Response(body=described.document, content_type="application/json")


@endpoint("GET", "/docs", {200: "text/html"})
async def get_reference(call: Call[Nothing, Nothing]) -> web.Response:
    """Describe this interface on a page to read."""
    described = await _described(call.request)
    return web.Response(
        body=described.reference,
        content_type="text/html",
        charset="utf-8",
        headers={"Content-Security-Policy": described.policy},
    )


async def _described(request: web.Request) -> Described:
    # It asks no store, and so no store that hangs can hold whoever asks for it.
    request[DEADLINE].reschedule(None)
    return await asyncio.to_thread(request.app[DESCRIBED])


DOCUMENTATION: Final = Section(name="Documentation", endpoints=(get_document, get_reference))
