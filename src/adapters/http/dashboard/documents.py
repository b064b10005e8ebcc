"""The document of each page: what it shows before any script runs, and the modules that it has a browser fetch."""

from __future__ import annotations

import json
import posixpath
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Final

PAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "/": "pages/now.js",
        "/jobs": "pages/jobs.js",
        "/jobs/new": "pages/new-job.js",
        "/jobs/{job_id}": "pages/job.js",
        "/executions": "pages/executions.js",
        "/executions/{execution_id}": "pages/execution.js",
        "/events": "pages/events.js",
        "/events/{event_id}": "pages/event.js",
        "/event-handlers": "pages/event-handlers.js",
        "/event-handlers/new": "pages/new-event-handler.js",
        "/event-handlers/{handler_id}": "pages/event-handler.js",
    }
)
"""Addresses that a person may keep, with the module of the page that is there."""

ENTRY: Final = "app.js"
_MODULES: Final = "<!-- modules -->"
_ASSETS: Final = re.compile("/assets/[^/]+/")
_INLINE: Final = re.compile(r"<script(?: type=\"importmap\")?>(.*?)</script>", re.DOTALL)
_IMPORT_MAP: Final = re.compile(r'<script type="importmap">(.*?)</script>')
_IMPORTED: Final = re.compile(r'(?<!")(?:from|import)\s*"([^"]+)"')


def documents(template: str, modules: Mapping[str, str]) -> Mapping[str, str]:
    """Write a document for each of `PAGES`, given the text of every module by its path."""
    named = {name: _ASSETS.sub("", address) for name, address in _imports(template).items()}
    assets = _ASSETS.search(template)
    prefix = assets.group() if assets else ""
    preloaded = {
        path: "\n".join(
            f'<link rel="modulepreload" href="{prefix}{name}">' for name in _closure([ENTRY, module], modules, named)
        )
        for path, module in PAGES.items()
    }
    return {path: _here(template, path).replace(_MODULES, links) for path, links in preloaded.items()}


def content_security_policy(page: str) -> str:
    """Let a page use files of its own node and the scripts that are written in it, and nothing else."""
    digests = (b64encode(sha256(script.encode()).digest()).decode() for script in _INLINE.findall(page))
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _imports(template: str) -> Mapping[str, str]:
    """Read the import map: addresses of libraries by the names that modules have for them."""
    found = _IMPORT_MAP.search(template)
    imports: dict[str, str] = json.loads(found.group(1))["imports"] if found else {}
    return imports


def _here(template: str, path: str) -> str:
    """Mark the link of the navigation that a page belongs to."""
    section = "/" + path.split("/")[1]
    return template.replace(f'<a href="{section}">', f'<a href="{section}" aria-current="page">')


def _closure(wanted: list[str], modules: Mapping[str, str], named: Mapping[str, str]) -> list[str]:
    """Give all that some modules import, and they theirs: a browser fetches it at once, not import by import."""
    found: dict[str, None] = {}
    while wanted:
        module = wanted.pop()
        if module in found or module not in modules:
            continue
        found[module] = None
        beside = posixpath.dirname(module)
        wanted += [
            named.get(name) or posixpath.normpath(posixpath.join(beside, name))
            for name in _IMPORTED.findall(modules[module])
        ]
    return sorted(found)
