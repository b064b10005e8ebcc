"""The client's requests about executions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

from ...domain.execution import JobExecution
from ...ports.ledger import LogLine
from ...ports.queries import ExecutionFilter
from ...ports.stores import Page
from .client_streams import follow
from .client_words import named
from .transport import Transport
from .wire.executions import ExecutionOut, LogLineOut
from .wire.pages import ExecutionPage, LogPage, read_page


class ExecutionRequests:
    """The part of `IScheduler` that is about executions."""

    _transport: Transport

    async def list_executions(self, query: ExecutionFilter | None = None) -> Page[JobExecution]:
        """Read executions of all jobs."""
        shown = await self._transport.ask(ExecutionPage, "GET", "/executions", query=named(query))
        return read_page(shown, ExecutionOut.value)

    async def get_execution(self, execution_id: UUID) -> JobExecution:
        """Read one execution."""
        return (await self._transport.ask(ExecutionOut, "GET", f"/executions/{execution_id}")).value()

    async def get_execution_logs(self, execution_id: UUID, *, after: int = 0, limit: int = 250) -> Page[LogLine]:
        """Read what the handler logged."""
        query = [("after", str(after)), ("limit", str(limit))]
        shown = await self._transport.ask(LogPage, "GET", f"/executions/{execution_id}/logs", query=query)
        return read_page(shown, LogLineOut.value)

    async def cancel_execution(self, execution_id: UUID) -> JobExecution:
        """End one pending or running execution."""
        path = f"/executions/{execution_id}/cancel"
        return (await self._transport.ask(ExecutionOut, "POST", path)).value()

    async def retry_execution(self, execution_id: UUID) -> JobExecution:
        """Run a failed or timed-out execution again (`IScheduler.retry_execution`)."""
        path = f"/executions/{execution_id}/retry"
        return (await self._transport.ask(ExecutionOut, "POST", path)).value()

    async def follow_execution_logs(self, execution_id: UUID, *, after: int = 0) -> AsyncIterator[LogLine]:
        """Read what the handler logs, as it comes (`IScheduler.follow_execution_logs`)."""
        query = [("follow", "true"), ("after", str(after))]
        async with follow(self._transport, f"/executions/{execution_id}/logs", query) as messages:
            async for message in messages:
                if message.event == "end":
                    return
                if message.event == "line":
                    yield message.read(LogLineOut).value()
