"""Handlers of type http: one call, its answer kept as the result."""

from __future__ import annotations

import json
import re
from typing import Annotated, Final, Literal

from aiohttp import ClientResponse
from pydantic import AfterValidator, BeforeValidator, Field

from ...domain.errors import HandlerFailed, InvalidJob
from ...domain.json import Json, NotStorable, encoded, storable
from ...ports.handlers import HandlerContext
from . import identity
from .client import OutgoingClient
from .payloads import Milliseconds, Payload, Statuses, Text, Url, parse
from .targets import TargetPolicy, TargetRefused

BODY_LIMIT: Final = 64 * 1024
"""How many bytes of a response are kept."""

_KEPT_HEADERS: Final = ("Content-Type", "ETag", "Location", "Retry-After", "X-Request-Id")
_KEPT_HEADER_LENGTH: Final = 1024
_FRAMING_HEADERS: Final = frozenset(
    {"connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"},
)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_VALUE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]{0,8192}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _header_name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError("is not a header name")
    if name.lower() in identity.HEADERS:
        raise ValueError("is sent by Tocsin itself and cannot be set")
    if name.lower() in _FRAMING_HEADERS:
        raise ValueError("follows from the call and cannot be set")
    return name


def _header_value(value: str) -> str:
    if not _VALUE.fullmatch(value):
        raise ValueError("must be at most 8192 characters without control characters")
    return value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


class HttpPayload(Payload):
    """An HTTP call. A body is sent as JSON, or as it is if it is text and `headers` name another Content-Type."""

    method: Annotated[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], BeforeValidator(_upper)]
    url: Url
    headers: Annotated[
        dict[Annotated[str, AfterValidator(_header_name)], Annotated[Text, AfterValidator(_header_value)]],
        Field(default_factory=dict, max_length=100),
    ]
    body: object = None
    expect: Statuses | None = None
    timeout_ms: Milliseconds | None = None


class HttpHandler:
    """
    Makes the call of an `HttpPayload`.

    Any 2xx is success, or any status in `expect`; a redirect is a status like others. The result is
    `{"status", "headers", "body"}`: a few headers, the body as JSON or else as text, cut to `BODY_LIMIT`
    with `"truncated": true`.
    """

    def __init__(self, client: OutgoingClient) -> None:
        self._client = client

    def check(self, payload: Json) -> None:
        """
        Refuse a payload that can never be sent from this node.

        Raises:
            InvalidJob: names each field at fault.
        """
        check_url(self._client.policy, parse(HttpPayload, payload).url)

    async def __call__(self, context: HandlerContext) -> Json:
        """
        Make the call.

        Raises:
            HandlerFailed: no answer, or one with another status; then `result` is the answer.
        """
        call = parse(HttpPayload, context.payload)
        async with self._client.request(
            call.method,
            call.url,
            headers=_content_type(call) | call.headers | identity.headers(context),
            body=_body(call),
            timeout_ms=call.timeout_ms,
            trace=context.trace,
        ) as response:
            result = await _result(response)
        if not is_expected(response.status, call.expect):
            raise HandlerFailed(f"{call.method} answered with status {response.status}", result)
        return result


def check_url(policy: TargetPolicy, url: str) -> None:
    """
    Refuse a URL that the policy can refuse without resolving its host.

    Raises:
        InvalidJob: the field is `payload.url`.
    """
    try:
        policy.check(url)
    except TargetRefused as error:
        raise InvalidJob.of("payload.url", error.message) from None


def is_expected(status: int, expect: list[int] | None) -> bool:
    """Answer whether a status counts as success: a listed one, or any 2xx if none are listed."""
    return 200 <= status <= 299 if expect is None else status in expect  # noqa: PLR2004  # The class of success.


def _content_type(call: HttpPayload) -> dict[str, str]:
    named = any(name.lower() == "content-type" for name in call.headers)
    return {} if named or call.body is None else {"Content-Type": "application/json"}


def _body(call: HttpPayload) -> bytes | None:
    if call.body is None:
        return None
    types = [value for name, value in call.headers.items() if name.lower() == "content-type"]
    if isinstance(call.body, str) and types and not _is_json(types[-1]):
        return call.body.encode()
    return encoded(storable(call.body)).encode()


async def _result(response: ClientResponse) -> dict[str, Json]:
    raw = await _read(response)
    kept = raw[:BODY_LIMIT]
    result: dict[str, Json] = {
        "status": response.status,
        "headers": {
            n.lower(): response.headers[n][:_KEPT_HEADER_LENGTH] for n in _KEPT_HEADERS if n in response.headers
        },
        "body": _document(response, kept) if len(kept) == len(raw) else _text(response, kept),
    }
    return result if len(kept) == len(raw) else {**result, "truncated": True}


async def _read(response: ClientResponse) -> bytes:
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > BODY_LIMIT:
            break
    return bytes(raw)


def _document(response: ClientResponse, raw: bytes) -> Json:
    if not raw:
        return None
    if _is_json(response.content_type):
        try:
            return storable(json.loads(raw), limit=3 * BODY_LIMIT)
        except (ValueError, RecursionError, NotStorable):
            return _text(response, raw)  # The answer said JSON and was not, which does not undo the call.
    return _text(response, raw)


def _text(response: ClientResponse, raw: bytes) -> str:
    try:
        text = raw.decode(response.charset or "utf-8", "replace")
    except LookupError:
        text = raw.decode("utf-8", "replace")
    # A control character takes six bytes as JSON, so a binary body would outgrow what a result may take.
    return _CONTROL.sub("\ufffd", text)


def _is_json(content_type: str) -> bool:
    media = content_type.partition(";")[0].strip().lower()
    return media == "application/json" or media.endswith("+json")
