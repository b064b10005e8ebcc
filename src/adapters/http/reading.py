"""Bodies and queries of requests, read into the models that describe them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final, NoReturn, get_origin
from uuid import UUID

from aiohttp import web

from ...domain.errors import FieldError, NotFound
from .refusals import Malformed
from .wire.model import AnyInput, parse

_SHOWN: Final = 64


async def read_body(request: web.Request, model: type[AnyInput]) -> AnyInput:
    """
    Read a JSON body; none at all is the empty object.

    Raises:
        Malformed: it is not JSON: also NaN, infinities, and a name given twice in one object.
        InvalidInput: it breaks the model.
    """
    try:
        raw = await request.read()
    except (web.RequestPayloadError, ConnectionError):
        raise Malformed("the body ended early or was not framed as its headers say") from None
    return parse(model, _loaded(raw) if raw else {})


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


def _loaded(raw: bytes) -> object:
    try:
        return json.loads(raw.decode(), parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except UnicodeDecodeError:
        raise Malformed("the body is not UTF-8") from None
    except RecursionError:
        raise Malformed("the body nests too deeply") from None
    except ValueError as error:
        raise Malformed(f"the body is not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("a number is beyond what a double can hold")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError(f"{next(_repeated(pairs))[:_SHOWN]!r} is given twice in one object")
    return document


def _repeated(pairs: list[tuple[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            yield name
        seen.add(name)
