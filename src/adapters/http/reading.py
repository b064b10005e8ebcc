"""Bodies and queries of requests, read into the models that describe them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, get_origin
from uuid import UUID

from aiohttp import web

from ...domain.errors import FieldError, NotFound
from ...domain.json import Json
from ...domain.strict_json import read_json
from .refusals import Malformed, UnsupportedMediaType
from .wire.model import AnyInput, parse

JSON: Final = "application/json"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_SHOWN: Final = 64


def check_media_type(request: web.Request, accepted: Collection[str] = (JSON,)) -> None:
    """
    Refuse a body of another type; none that is `accepted` may be one that a page elsewhere can have a browser send.

    Raises:
        UnsupportedMediaType: its type is none of them, or it is not in UTF-8, or in a content coding.
    """
    if request.method in SAFE_METHODS:
        return
    check_coding(request)
    if not request.body_exists:
        return
    charset = (request.charset or "utf-8").lower()
    if request.content_type not in accepted or charset not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"bodies are taken as {' or '.join(accepted)} in UTF-8")


def check_coding(request: web.Request) -> None:
    """
    Refuse a body that is compressed.

    Raises:
        UnsupportedMediaType: it is.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("bodies are taken without Content-Encoding")


async def read_raw(request: web.Request) -> bytes:
    """
    Read the bytes of a body.

    Raises:
        Malformed: there are fewer than its headers say, or they are framed otherwise.
    """
    try:
        return await request.read()
    except (web.RequestPayloadError, ConnectionError):
        raise Malformed("the body ended early or was not framed as its headers say") from None


def loaded(raw: bytes) -> Json:
    """
    Read a JSON document.

    Raises:
        Malformed: it is none: also NaN, infinities, and a name given twice in one object.
    """
    try:
        return read_json(raw)
    except ValueError as error:
        raise Malformed(f"the body {error}") from None


async def read_body(request: web.Request, model: type[AnyInput]) -> AnyInput:
    """
    Read a JSON body; none at all is the empty object.

    Raises:
        UnsupportedMediaType: it does not say that it is JSON in UTF-8.
        Malformed: it is not JSON: also NaN, infinities, and a name given twice in one object.
        InvalidInput: it breaks the model.
    """
    check_media_type(request)
    raw = await read_raw(request)
    return parse(model, loaded(raw) if raw else {})


def read_query(request: web.Request, model: type[AnyInput]) -> AnyInput:
    """
    Read what stands behind the question mark; a name given twice means either, where the model takes several.

    Raises:
        InvalidInput: an unknown name, a value that breaks the model, or two where one is taken.
    """
    given: dict[str, Any] = {}
    twice: list[FieldError] = []
    for name in request.query:
        values = request.query.getall(name)
        field = model.model_fields.get(name)
        if field is not None and get_origin(field.annotation) is tuple:
            given[name] = values
        elif len(values) == 1:
            given[name] = values[0]
        elif name not in given:
            given[name] = values[0]
            twice.append(FieldError(name[:255], "must be given once"))
    if twice:
        raise model.refusal(twice)
    return parse(model, given)


def read_id(request: web.Request, name: str, missing: type[NotFound]) -> UUID:
    """
    Read the id in a path.

    Raises:
        NotFound: `missing`, also when it is no UUID, since nothing can have it.
    """
    written = request.match_info[name]
    try:
        value = UUID(written)
    except ValueError:
        value = None
    if value is None or str(value) != written.lower():
        raise missing(written[:_SHOWN])
    return value
