"""The dashboard as it goes over the wire: files under one digest, compressed once, and a document for each page."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from .documents import content_security_policy, documents

TEMPLATE: Final = "index.html"
THEME: Final = "theme.js"
"""Written into each document, as it has to run before the first paint."""

STYLES: Final = "styles/all.css"
STYLE_SHEETS: Final = (
    "styles/tokens.css",
    "styles/elements.css",
    "styles/shell.css",
    "vendor/uplot.css",
    "styles/components.css",
    "styles/pages.css",
    "styles/detail.css",
    "styles/events.css",
)
"""What `STYLES` is made of, in order: one answer to wait for before the first paint, and not eight."""

_MEDIA_TYPES: Final = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".mjs": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
        ".woff2": "font/woff2",
    }
)
"""What is served; what lies beside it, such as licences, is for readers of the package."""

_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file; `compressed` is None where gzip would spare nothing, `digest` names the content."""

    body: bytes
    compressed: bytes | None
    media_type: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """The document of each page by its path with their policy, and the files by path; `digest` is that of them all."""

    pages: Mapping[str, Asset]
    policy: str
    files: Mapping[str, Asset]
    digest: str

    @property
    def scripts(self) -> Mapping[str, Asset]:
        """The files that a browser runs."""
        return {name: asset for name, asset in self.files.items() if asset.media_type.startswith("text/javascript")}


@cache
def load_dashboard() -> Dashboard:
    """Read every file of the dashboard."""
    found = dict(_found(files(__package__) / "static"))
    digest = _digest(b"".join(name.encode() + b"\0" + body for name, body in found.items()))
    template = found.pop(TEMPLATE).decode().replace("THEME", found.pop(THEME).decode()).replace("DIGEST", digest)
    found[STYLES] = b"".join(found.pop(name) for name in STYLE_SHEETS)
    modules = {name: body.decode() for name, body in found.items() if name.endswith((".js", ".mjs"))}
    return Dashboard(
        pages={path: _asset(TEMPLATE, page.encode()) for path, page in documents(template, modules).items()},
        policy=content_security_policy(template),
        files={name: _asset(name, body) for name, body in found.items()},
        digest=digest,
    )


def _found(folder: Traversable, under: str = "") -> Iterator[tuple[str, bytes]]:
    """Give the files to serve in order of their paths."""
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        path = f"{under}{entry.name}"
        if entry.is_dir():
            yield from _found(entry, f"{path}/")
        elif PurePosixPath(path).suffix in _MEDIA_TYPES:
            yield path, entry.read_bytes()


def _asset(name: str, body: bytes) -> Asset:
    compressed = gzip.compress(body, mtime=0)
    return Asset(
        body=body,
        compressed=compressed if len(compressed) < len(body) else None,
        media_type=_MEDIA_TYPES[PurePosixPath(name).suffix],
        digest=_digest(body),
    )


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:_DIGITS]
