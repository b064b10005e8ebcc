"""What an entry of the streams of events says: any service's in, Tocsin's own out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final

from ...domain.cloudevents import event_of_document, key_of
from ...domain.definition import TENANT_BOUNDS, check_text
from ...domain.errors import InvalidEvent, InvalidInput
from ...domain.event import Event, EventOrigin, NewEvent
from ...domain.job import DEFAULT_TENANT
from ...domain.json import EVENT_LIMIT, Json, encoded
from ...domain.strict_json import read_json
from ...domain.trace import read_trace_context
from ...ports.event_streams import Arrival
from .entries import Fields

LARGEST_ENTRY: Final = 2 * EVENT_LIMIT
"""Bytes of all names and values of an entry, whose JSON need not be as compact as it is kept; more is left unread."""

_OWN: Final = frozenset(
    {
        *("name", "data", "id", "source", "subject", "time", "tenant"),
        *("idempotency_key", "correlation_id", "traceparent", "tracestate"),
    }
)
"""Fields that are a part of an event; all others are attributes."""

_SHOWN: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An entry that was handed out; `too_large` names the largest field of one that was left unread for its size."""

    id: bytes
    deliveries: int
    fields: Fields
    too_large: bytes | None = None


def delivered(entry_id: bytes, deliveries: int, fields: Fields) -> Delivery:
    """Hold an entry that was read whole against its largest size."""
    sizes = {name: len(name) + len(value) for name, value in fields.items()}
    if sum(sizes.values()) <= LARGEST_ENTRY:
        return Delivery(id=entry_id, deliveries=deliveries, fields=fields)
    largest = max(sizes, key=lambda name: sizes[name])
    return Delivery(id=entry_id, deliveries=deliveries, fields={}, too_large=largest)


def read(delivery: Delivery) -> Arrival:
    """Read an entry, `name` and others or a CloudEvent under `event`; one that says no event is malformed."""
    tenant_id, event, malformed = DEFAULT_TENANT, None, None
    try:
        texts = _texts(delivery)
        tenant_id = _tenant(texts)
        event = _cloud_event(delivery, texts) if _is_cloud_event(texts) else _plain_event(delivery, texts)
    except InvalidInput as error:
        malformed = error.message
    return Arrival(
        id=delivery.id.decode(),
        deliveries=delivery.deliveries,
        tenant_id=tenant_id,
        event=event,
        malformed=malformed,
    )


def write(event: Event) -> Fields:
    """Word an event that goes out; a field that has no value is left out, but for `data`."""
    fields: Mapping[str, str | None] = {
        "id": str(event.id),
        "name": event.name,
        "tenant": event.tenant_id,
        "time": event.time.isoformat(),
        "source": event.source,
        "subject": event.subject,
        "depth": str(event.depth),
        "correlation_id": event.correlation_id,
        "traceparent": event.trace.traceparent,
        "tracestate": event.trace.tracestate,
        "data": encoded(event.data),
    }
    return {name.encode(): value.encode() for name, value in fields.items() if value is not None}


def _texts(delivery: Delivery) -> dict[str, str]:
    """Decode all fields, those of an event only where there is something in them."""
    if delivery.too_large is not None:
        raise _refused(delivery.too_large, f"is the largest of fields that take more than {LARGEST_ENTRY} bytes")
    texts = {}
    for name, value in delivery.fields.items():
        try:
            texts[name.decode()] = value.decode()
        except UnicodeDecodeError:
            raise _refused(name, "is not UTF-8") from None
    return {name: value for name, value in texts.items() if value or name not in _OWN}


def _tenant(texts: Mapping[str, str]) -> str:
    tenant_id = texts.get("tenant", DEFAULT_TENANT)
    check_text("tenant", tenant_id, TENANT_BOUNDS)
    return tenant_id


def _is_cloud_event(texts: Mapping[str, str]) -> bool:
    return "event" in texts and "name" not in texts


def _cloud_event(delivery: Delivery, texts: Mapping[str, str]) -> NewEvent:
    if further := sorted(texts.keys() - {"event", "tenant"}):
        raise _refused(further[0].encode(), "cannot go with event; a CloudEvent has it among its attributes")
    return event_of_document(_json(delivery, "event"), origin=EventOrigin.STREAM)


def _plain_event(delivery: Delivery, texts: Mapping[str, str]) -> NewEvent:
    if "name" not in texts:
        raise InvalidEvent.of("name", "is required, or a CloudEvent under event")
    return NewEvent(
        name=texts["name"],
        data=_json(delivery, "data") if "data" in texts else None,
        source=texts.get("source"),
        subject=texts.get("subject"),
        time=_instant(texts["time"]) if "time" in texts else None,
        idempotency_key=_key(delivery, texts),
        correlation_id=texts.get("correlation_id"),
        attributes={name: value for name, value in texts.items() if name not in _OWN},
        trace=read_trace_context(texts.get("traceparent"), texts.get("tracestate")),
        origin=EventOrigin.STREAM,
    )


def _json(delivery: Delivery, field: str) -> Json:
    try:
        return read_json(delivery.fields[field.encode()])
    except ValueError as error:
        raise InvalidEvent.of(field, str(error)) from None


def _instant(written: str) -> datetime:
    try:
        instant = datetime.fromisoformat(written)
    except ValueError:
        instant = None
    if instant is None or instant.utcoffset() is None:
        raise InvalidEvent.of("time", "must be an instant with its UTC offset, such as 2026-01-31T08:00:00Z")
    return instant


def _key(delivery: Delivery, texts: Mapping[str, str]) -> str:
    """Tell repetitions apart by what the publisher says, and else by the entry itself."""
    if (key := texts.get("idempotency_key")) is not None:
        return key
    if (identity := texts.get("id")) is None:
        return f"stream entry {delivery.id.decode()} {_digest(delivery.fields)}"
    source = texts.get("source")
    return identity if source is None else key_of(source, identity)


def _digest(fields: Fields) -> str:
    """Tell entries apart that bear the same id: a stream that was lost may give it out again."""
    digest = blake2b(digest_size=16, person=b"tocsin entry")
    parts: Sequence[bytes] = [part for field in fields.items() for part in field]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _refused(name: bytes, reason: str) -> InvalidInput:
    return InvalidEvent.of(name.decode("utf-8", "replace")[:_SHOWN], reason)
