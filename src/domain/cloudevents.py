"""
CloudEvents 1.0 as events: what its attributes mean here.

The rules are those of https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md, section "Context
attributes", of its JSON format, and of its extensions `traceparent` and `correlationid`. How attributes and data are
framed is the transport's affair.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.message import Message
from hashlib import sha256
from typing import Any, Final

from .errors import FieldError, InvalidEvent
from .event import EventOrigin, NewEvent
from .json import Json, encoded
from .strict_json import read_json
from .trace import read_trace_context

SPECVERSION: Final = "1.0"
REQUIRED: Final = ("specversion", "id", "source", "type")

_KEY_LENGTH: Final = 255
_OWN: Final = frozenset({*REQUIRED, "subject", "time", "correlationid", "traceparent", "tracestate"})
"""Attributes that are a field of an event; the others are kept as they are."""

_TEXTS: Final = (*REQUIRED, "subject", "time", "dataschema", "datacontenttype", "correlationid")
_NAME: Final = re.compile(r"[a-z0-9]+")
_DATA: Final = frozenset({"data", "data_base64"})
_INTEGERS: Final = range(-(2**31), 2**31)


def event_of(attributes: Mapping[str, Json], data: Json = None, *, origin: EventOrigin) -> NewEvent:
    """
    Make an event of the context attributes of a CloudEvent; one that is null is not there.

    `type` becomes the name; `source` and `id`, which tell repetitions apart, the idempotency key. A `traceparent` that
    is malformed counts for nothing.

    Raises:
        InvalidEvent: names the attributes that are missing or wrong.
    """
    given = {name: value for name, value in attributes.items() if value is not None}
    errors = [*_missing(given), *_misnamed(given), *_mistyped(given)]
    if errors:
        raise InvalidEvent(errors)
    texts: dict[str, Any] = {name: value for name, value in given.items() if name in _TEXTS}
    return NewEvent(
        name=texts["type"],
        data=data,
        source=texts["source"],
        subject=texts.get("subject"),
        time=_instant(texts["time"]) if "time" in texts else None,
        idempotency_key=key_of(texts["source"], texts["id"]),
        correlation_id=texts.get("correlationid"),
        attributes={name: value for name, value in given.items() if name not in _OWN},
        trace=read_trace_context(_text(given.get("traceparent")), _text(given.get("tracestate"))),
        origin=origin,
    )


def event_of_document(document: Json, *, origin: EventOrigin) -> NewEvent:
    """
    Make an event of a CloudEvent in JSON format, with `data` or `data_base64`.

    Raises:
        InvalidEvent: it is no object, or as for `event_of`.
    """
    if not isinstance(document, Mapping):
        raise InvalidEvent.of("body", "must be a JSON object")
    attributes = {name: value for name, value in document.items() if name not in _DATA}
    data = document.get("data")
    if (written := document.get("data_base64")) is not None:
        if data is not None:
            raise InvalidEvent.of("data_base64", "cannot go with data; name one of the two")
        data = _decoded(written, _text(attributes.get("datacontenttype")))
    return event_of(attributes, data, origin=origin)


def read_data(raw: bytes, content_type: str | None) -> Json:
    """
    Read the bytes of an event's data: JSON as JSON, text as text, anything else as text in base64.

    Without a content type it is JSON.

    Raises:
        InvalidEvent: it says that it is JSON, and is not.
    """
    if not raw:
        return None
    media, charset = _media_type(content_type or "application/json")
    if media.endswith(("/json", "+json")):
        try:
            return read_json(raw)
        except ValueError as error:
            raise InvalidEvent.of("data", str(error)) from None
    if media.startswith("text/") or media.endswith(("/xml", "+xml")):
        try:
            return raw.decode(charset)
        except (LookupError, UnicodeError):
            pass
    return b64encode(raw).decode()


def _missing(given: Mapping[str, Json]) -> Iterator[FieldError]:
    yield from (FieldError(name, "is required") for name in REQUIRED if name not in given)
    if given.get("specversion", SPECVERSION) != SPECVERSION:
        yield FieldError("specversion", f"must be {SPECVERSION}")


def _misnamed(given: Mapping[str, Json]) -> Iterator[FieldError]:
    for name in given:
        if not _is_attribute(name):
            # It may be called anything, and what it is called goes into the answer.
            shown = name[:_KEY_LENGTH].encode("utf-8", "replace").decode()
            yield FieldError(shown or "body", "is no attribute: their names have only lower-case letters and digits")


def _mistyped(given: Mapping[str, Json]) -> Iterator[FieldError]:
    for name, value in given.items():
        if name in _TEXTS:
            if not isinstance(value, str) or not value:
                yield FieldError(name, "must be a text that is not empty")
            elif name == "time" and _instant(value) is None:
                yield FieldError(name, "must be an instant with its UTC offset, such as 2026-01-31T08:00:00Z")
        elif _is_attribute(name) and not _is_simple(value):
            yield FieldError(name[:_KEY_LENGTH], "must be a text, a whole number of 32 bits, or true or false")


def _is_attribute(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _DATA


def _is_simple(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and value in _INTEGERS)


def _instant(written: str) -> datetime | None:
    """Read a timestamp (RFC 3339)."""
    try:
        instant = datetime.fromisoformat(written.upper())
    except ValueError:
        return None
    return None if instant.utcoffset() is None else instant


def key_of(source: str, identity: str) -> str:
    """Word source and id as one key, which no other two have; a digest where it would be too long or ambiguous."""
    key = f"{source}#{identity}"
    if len(key) <= _KEY_LENGTH and "#" not in source:
        return key
    return sha256(encoded([source, identity]).encode("utf-8", "replace")).hexdigest()


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _decoded(written: Json, content_type: str | None) -> Json:
    try:
        raw = b64decode(written, validate=True) if isinstance(written, str) else None
    except ValueError:
        raw = None
    if raw is None:
        raise InvalidEvent.of("data_base64", "must be a text in base64")
    return read_data(raw, content_type)


def _media_type(content_type: str) -> tuple[str, str]:
    """Give the media type in lower case, and its charset."""
    header = Message()
    header["Content-Type"] = content_type.replace("\r", " ").replace("\n", " ")
    return header.get_content_type(), header.get_content_charset() or "utf-8"
