"""Who may speak to a node without authentication: only what was meant for it, as JSON, and not across sites."""

from __future__ import annotations

from ipaddress import ip_address
from types import MappingProxyType
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

from .node import NODE
from .reading import SAFE_METHODS
from .refusals import Forbidden, Malformed

_HEADERS: Final = MappingProxyType(
    {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    },
)
_SAME_SITE: Final = frozenset({"none", "same-origin"})


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """
    Refuse what a web page elsewhere could make a browser send here.

    A Host that is not this node's means DNS rebinding, and browsers say themselves when a request comes from another
    site, old ones at least from which origin. Bodies of types that a form can send without asking nobody reads
    (`reading.check_media_type`).
    """
    _check_host(request)
    if request.method not in SAFE_METHODS:
        _check_site(request)
        _check_origin(request)
    return await handler(request)


async def add_security_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Keep browsers from guessing types, framing, caching and fetching; a page may bring its own policy."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = "tocsin"


def _check_host(request: web.Request) -> None:
    named = request.headers.getall("Host", [])
    try:
        (authority,) = named
        host = _place(f"http://{authority}").host
    except ValueError:
        raise Malformed("a request names exactly one Host") from None
    if host not in request.app[NODE].hosts and not _is_loopback(host):
        raise Forbidden(
            f"this node does not serve the host {authority[:255]!r}; add it to the allowed hosts if it should"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_site(request: web.Request) -> None:
    if request.headers.get("Sec-Fetch-Site", "none") not in _SAME_SITE:
        raise Forbidden("requests that change something are not taken from pages of other sites")


def _check_origin(request: web.Request) -> None:
    """Let pages of this node through: its host and port, or those that a proxy in front has, if it is allowed."""
    own = _place(f"http://{request.headers['Host']}")
    for origin in request.headers.getall("Origin", []):
        try:
            place = _place(origin)
        except ValueError:
            place = _Place("", None)
        if place != own and place.host not in request.app[NODE].hosts:
            raise Forbidden(
                f"requests that change something are not taken from pages of {origin[:255]!r}; "
                "add its host to the allowed hosts if it is this node's"
            )


class _Place(NamedTuple):
    host: str
    port: int | None


def _place(url: str) -> _Place:
    """Read host and port; the port of the scheme is None, because TLS may end before this node."""
    parts = URL(url)
    return _Place((parts.host or "").lower().rstrip("."), parts.explicit_port)
