"""
Published events as they come in a request: plain, or as CloudEvents.

The framing is that of the HTTP binding of CloudEvents 1.0: structured, binary and batched content mode
(https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote_to_bytes

from aiohttp import web
from pydantic import BaseModel

from ...domain.cloudevents import event_of, event_of_document, read_data
from ...domain.errors import FieldError, InvalidEvent
from ...domain.event import EventOrigin, NewEvent
from ...domain.event_definition import validate_event
from ...domain.json import EVENT_LIMIT, Json
from ...ports.event_requests import EVENTS_BOUNDS
from .reading import JSON, check_coding, check_media_type, loaded, read_raw
from .refusals import TooLarge
from .wire.events import AnyDataIn, CloudEventIn, CloudEventsIn, EventIn, EventsIn
from .wire.model import parse

STRUCTURED: Final = "application/cloudevents+json"
BATCHED: Final = "application/cloudevents-batch+json"
IDEMPOTENCY_KEY: Final = "Idempotency-Key"

BODIES: Final[Mapping[str, type[BaseModel]]] = MappingProxyType(
    {JSON: EventsIn, STRUCTURED: CloudEventIn, BATCHED: CloudEventsIn, "*/*": AnyDataIn},
)

_PREFIX: Final = "ce-"
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FIELDS: Final = MappingProxyType({"name": "type", "correlation_id": "correlationid", "idempotency_key": "id"})
"""How attributes of CloudEvents are called that are fields of an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a request publishes; `is_batch` says that the outcomes are to be answered as a list."""

    events: Sequence[NewEvent]
    is_batch: bool = False

    def explained(self, error: InvalidEvent) -> InvalidEvent:
        """Name the fields at fault as the request has them, each with the place of its event in a batch."""
        found = [fault for place, event in enumerate(self.events) for fault in self._faults(place, event)]
        return InvalidEvent(found) if found else error

    def _faults(self, place: int, event: NewEvent) -> Iterator[FieldError]:
        try:
            validate_event(event)
        except InvalidEvent as error:
            for each in error.errors:
                field = _attribute(each.field) if event.origin is EventOrigin.CLOUDEVENTS else each.field
                yield FieldError(f"{place}.{field}" if self.is_batch else field, each.message)


async def read_published(request: web.Request) -> Published:
    """
    Read the events of a request by its content type: structured, batched, else binary if it has headers `ce-…`.

    Raises:
        UnsupportedMediaType, Malformed: as for every body.
        TooLarge: it has 1 MiB or more.
        InvalidEvent: names the fields or attributes that are missing or wrong.
    """
    is_binary = request.content_type not in {STRUCTURED, BATCHED} and any(_context(request))
    if is_binary:
        # No page elsewhere can have a browser send such headers without asking, so the body may be of any type.
        check_coding(request)
    else:
        check_media_type(request, (JSON, STRUCTURED, BATCHED))
    raw = await read_raw(request)
    if len(raw) >= EVENT_LIMIT:
        raise TooLarge(f"an event must have less than {EVENT_LIMIT} bytes")
    if is_binary:
        published = Published(events=[_binary(request, raw)])
    else:
        # Who sends no body need not say what it is.
        published = _documents(loaded(raw) if raw else {}, _READERS.get(request.content_type, _READERS[JSON]))
    return _keyed(published, request.headers.getall(IDEMPOTENCY_KEY, []))


def _plain(document: Json) -> NewEvent:
    return parse(EventIn, document).event()


def _structured(document: Json) -> NewEvent:
    return event_of_document(document, origin=EventOrigin.CLOUDEVENTS)


_READERS: Final[Mapping[str, tuple[Callable[[Json], NewEvent], Sequence[bool]]]] = MappingProxyType(
    {JSON: (_plain, (False, True)), STRUCTURED: (_structured, (False,)), BATCHED: (_structured, (True,))},
)
"""Content type to what reads an event, and whether one, a batch or either is taken."""


def _documents(document: Json, reader: tuple[Callable[[Json], NewEvent], Sequence[bool]]) -> Published:
    read, batches = reader
    is_batch = batches[0] if len(batches) == 1 else isinstance(document, list)
    if not is_batch:
        return Published(events=[read(document)])
    if not isinstance(document, list):
        raise InvalidEvent.of("body", "must be a list")
    if len(document) > EVENTS_BOUNDS[1]:
        raise InvalidEvent.of("body", f"must have at most {EVENTS_BOUNDS[1]} events")
    events: list[NewEvent] = []
    faults: list[FieldError] = []
    for place, each in enumerate(document):
        try:
            events.append(read(each))
        except InvalidEvent as error:
            faults.extend(FieldError(f"{place}.{fault.field}", fault.message) for fault in error.errors)
    if faults:
        raise InvalidEvent(faults)
    return Published(events=events, is_batch=True)


def _binary(request: web.Request, raw: bytes) -> NewEvent:
    content_type = request.headers.get("Content-Type")
    attributes: dict[str, Json] = dict(_context(request))
    return event_of(
        attributes | ({} if content_type is None else {"datacontenttype": content_type}),
        read_data(raw, content_type),
        origin=EventOrigin.CLOUDEVENTS,
    )


def _context(request: web.Request) -> Iterator[tuple[str, str]]:
    """Read the attributes in the headers."""
    for header, written in request.headers.items():
        if header.lower().startswith(_PREFIX):
            name = header.lower().removeprefix(_PREFIX)
            yield name, _decoded(name, written)


def _decoded(name: str, written: str) -> str:
    """Read a header's value: first unquoted, then percent-decoded once (HTTP binding, 3.1.3.2)."""
    quoted = _QUOTED.fullmatch(written)
    plain = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else written
    try:
        return unquote_to_bytes(plain).decode()
    except UnicodeError:
        raise InvalidEvent.of(name[:255], "is not UTF-8 when percent-decoded") from None


def _keyed(published: Published, named: Sequence[str]) -> Published:
    """Take the idempotency key from its header, which may be quoted as draft-ietf-httpapi-idempotency-key has it."""
    if not named:
        return published
    if published.is_batch or len(named) > 1:
        raise InvalidEvent.of("idempotency_key", "the header Idempotency-Key names the key of one event")
    quoted = _QUOTED.fullmatch(named[0])
    key = quoted[1] if quoted else named[0]
    (event,) = published.events
    if event.idempotency_key not in {None, key}:
        raise InvalidEvent.of("idempotency_key", "is another one than the header Idempotency-Key names")
    return replace(published, events=[replace(event, idempotency_key=key)])


def _attribute(field: str) -> str:
    return _FIELDS.get(field, field.removeprefix("attributes."))
