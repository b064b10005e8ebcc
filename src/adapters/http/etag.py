"""The version of a job or an event handler as an entity tag (RFC 9110, 8.8.3 and 13.1.1)."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

from .refusals import Malformed, NoVersionMatches

_TAG: Final = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_VERSION: Final = re.compile(r"0|[1-9][0-9]{0,14}")


def entity_tag(version: int) -> str:
    """Write a version as a strong entity tag."""
    return f'"{version}"'


def expected_version(request: web.Request) -> int | None:
    """
    Read the version that If-Match names; None if any will do.

    Raises:
        Malformed: it is not `*` and not exactly one entity tag.
        NoVersionMatches: a weak tag, or one that nothing ever had.
    """
    given = ", ".join(request.headers.getall("If-Match", [])).strip()
    if given in {"", "*"}:
        return None
    tag = _TAG.fullmatch(given)
    if tag is None:
        raise Malformed('If-Match takes * or one entity tag: a version in double quotes, such as "3"')
    if tag[1] or not _VERSION.fullmatch(tag[2]):
        raise NoVersionMatches(f"no version has the entity tag {given[:64]}")
    return int(tag[2])
