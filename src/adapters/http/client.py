"""The client: `IScheduler` against a server."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from aiohttp import ClientSession

from .client_batches import BatchRequests
from .client_events import EventRequests
from .client_executions import ExecutionRequests
from .client_fleet import FleetRequests
from .client_jobs import JobRequests
from .client_overviews import OverviewRequests
from .transport import TOTAL_SECONDS, Transport


class HttpScheduler(JobRequests, BatchRequests, OverviewRequests, ExecutionRequests, EventRequests, FleetRequests):
    """
    Implements `IScheduler` over HTTP: same arguments, same values, same errors.

    What the API does not show of a value has its default there (`JobOut.value`, `ExecutionOut.value`).
    Beside the port's errors a call raises ServerUnreachable, a StoreUnavailable, when nobody answers.

    Raises (construction):
        InvalidInput: `base_url` is no http or https address.
    """

    def __init__(
        self, base_url: str, *, session: ClientSession | None = None, total_seconds: float = TOTAL_SECONDS
    ) -> None:
        self._transport = Transport(base_url, session=session, total_seconds=total_seconds)

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection pool."""
        await self._transport.__aexit__(kind, error, trace)
