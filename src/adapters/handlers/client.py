"""The one HTTP client through which a node calls out, behind its target policy."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientResponseError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
    ThreadedResolver,
)
from aiohttp.abc import AbstractResolver
from yarl import URL

from ...domain.errors import HandlerFailed
from ...domain.trace import TraceContext
from ...ports.telemetry import Telemetry
from .calls import client_span, tell_status
from .identity import trace_headers
from .targets import GuardedResolver, TargetPolicy


class OutgoingClient:
    """
    Calls out over HTTP: no redirects, no cookies, no proxies from the environment.

    The session is made at the first call, and the owner closes the client. `resolver` defaults to the system's.
    """

    def __init__(
        self, policy: TargetPolicy, *, telemetry: Telemetry | None = None, resolver: AbstractResolver | None = None
    ) -> None:
        self.policy = policy
        self._telemetry = telemetry
        self._resolver = resolver
        self._session: ClientSession | None = None

    async def close(self) -> None:
        """Close the connections; calls still open fail."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_ms: int | None = None,
        trace: TraceContext | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """
        Make a call and hold its response open; `timeout_ms` covers reading it too.

        `trace` is what it is a part of: where spans are recorded it gets one of its own, which the headers then name.

        Raises:
            TargetRefused: the policy does not permit the target.
            HandlerFailed: there was no complete answer; the message names no path and no query.
        """
        target = self.policy.check(url)
        with client_span(self._telemetry, method, target, parent=trace) as span:
            sent = {**(headers or {}), **({} if span is None else trace_headers(span.context))}
            async with self._response(method, target, headers=sent, body=body, timeout_ms=timeout_ms) as response:
                if span is not None:
                    tell_status(span, response.status)
                yield response

    @asynccontextmanager
    async def _response(
        self, method: str, target: URL, *, headers: Mapping[str, str], body: bytes | None, timeout_ms: int | None
    ) -> AsyncIterator[ClientResponse]:
        call = f"{method} {target.origin()}"
        seconds = None if timeout_ms is None else timeout_ms / 1000
        try:
            async with self._opened().request(
                method,
                target,
                headers=headers,
                data=body,
                timeout=ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as response:
                yield response
        except TimeoutError:
            raise HandlerFailed(f"{call}: no complete answer in time") from None
        except (ClientError, OSError) as error:
            raise HandlerFailed(f"{call}: {_reason(error)}") from None

    def _opened(self) -> ClientSession:
        if self._session is None:
            resolver = GuardedResolver(self.policy, self._resolver or ThreadedResolver())
            # A pooled connection that the server closed meanwhile would fail a POST that must not be repeated.
            connector = TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True, limit=0)
            headers = {"User-Agent": "tocsin"}
            self._session = ClientSession(connector=connector, cookie_jar=DummyCookieJar(), headers=headers)
        return self._session


def _reason(error: ClientError | OSError) -> str:
    match error:
        case ClientConnectorCertificateError():
            return str(error.certificate_error)
        case ClientConnectorError(os_error=ConnectionError(errno=int(number))):
            return os.strerror(number)
        case ClientConnectorError():
            return error.os_error.strerror or type(error).__name__
        case ClientResponseError():
            return error.message or type(error).__name__
        case _:
            return type(error).__name__
