"""The files of the dashboard as they go over the wire: under one digest, compressed once."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

PAGE: Final = "index.html"
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
_MODULES: Final = "<!-- modules -->"
_EVERYWHERE: Final = ("lib/", "routes.js", "ui/", "vendor/hooks", "vendor/htm", "vendor/preact")
"""Modules that any page wants."""

_IMPORT_MAP: Final = ('<script type="importmap">', "</script>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file; `compressed` is None where gzip would spare nothing, `digest` names the content."""

    body: bytes
    compressed: bytes | None
    media_type: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """The document of every page with its policy, and the files by path; `digest` is that of all of them together."""

    page: Asset
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
    template = found.pop(PAGE).decode()
    digest = _digest(
        b"".join(name.encode() + b"\0" + body for name, body in [(PAGE, template.encode()), *found.items()])
    )
    page = template.replace(_MODULES, _preloaded(found)).replace("DIGEST", digest)
    return Dashboard(
        page=_asset(PAGE, page.encode()),
        policy=content_security_policy(page),
        files={name: _asset(name, body) for name, body in found.items()},
        digest=digest,
    )


def content_security_policy(page: str) -> str:
    """Let a page use files of its own node and the import map that is written in it, and nothing else."""
    opening, closing = _IMPORT_MAP
    import_map = page.partition(opening)[2].partition(closing)[0]
    digest = b64encode(sha256(import_map.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _found(folder: Traversable, under: str = "") -> Iterator[tuple[str, bytes]]:
    """Give the files to serve in order of their paths."""
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        path = f"{under}{entry.name}"
        if entry.is_dir():
            yield from _found(entry, f"{path}/")
        elif PurePosixPath(path).suffix in _MEDIA_TYPES:
            yield path, entry.read_bytes()


def _preloaded(names: Iterable[str]) -> str:
    """Have a browser fetch modules at once, not each when it has read who imports it."""
    wanted = [name for name in names if name.startswith(_EVERYWHERE)]
    return "\n".join(f'<link rel="modulepreload" href="/assets/DIGEST/{name}">' for name in wanted)


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
