"""Event handlers at rest."""

from __future__ import annotations

import json
from typing import Final
from uuid import UUID

from ...domain.errors import Conflict, EventHandlerNotFound, VersionConflict
from ...domain.event import EventHandler
from ...domain.job import ScheduledJob
from ...ports.events import HandlerChange, JobDecision, Registry
from ...ports.queries import EventHandlerFilter
from ...ports.stores import Page
from .accounts import insert, read_jobs
from .database import Database
from .decisions import refuse_taken_key, write_decision
from .event_handler_rows import handler_of, handler_row, listener_row, own_job, owning, readable_handlers
from .readable import read_asked_for
from .statements import statements
from .transaction import LARGEST, Parameters, Row, Transaction, array

_HANDLERS: Final = statements("event_handlers")
_OUTBOX: Final = statements("outbox")


class SqliteEventHandlers:
    """Event handlers, each call scoped to one tenant, but for `registry`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, handler: EventHandler, job: ScheduledJob | None) -> EventHandler:
        """Insert a handler, and the job of its own."""

        def work(transaction: Transaction) -> EventHandler:
            added = owning(handler, None if job is None else job.id)
            _refuse_taken_handler_key(transaction, added)
            _insert_job(transaction, job)
            transaction.run(_HANDLERS["insert_handler"], **handler_row(added))
            transaction.run(_HANDLERS["insert_handler_counters"], handler_id=str(added.id))
            return _saved(transaction, added)

        return await self._database.write(work)

    async def get(self, tenant_id: str, handler_id: UUID) -> EventHandler:
        """Read one handler."""
        return await self._database.read(lambda transaction: _existing(transaction, tenant_id, handler_id))

    async def list(self, tenant_id: str, query: EventHandlerFilter) -> Page[EventHandler]:
        """Read the handlers that match, those that act first first."""
        parameters = _conditions(query)

        def work(transaction: Transaction) -> Page[EventHandler]:
            [found] = transaction.rows(_HANDLERS["matching_handlers"], tenant_id=tenant_id, **parameters)
            rows = transaction.rows(_HANDLERS["handlers_by_ids"], ids=array(json.loads(found["ids"])))
            return Page(
                items=readable_handlers(rows),
                total=found["total"],
                limit=query.limit,
                offset=query.offset,
                next_cursor=None,
            )

        return await self._database.read(work)

    async def change(
        self,
        tenant_id: str,
        handler_id: UUID,
        change: HandlerChange,
        *,
        job: JobDecision | None = None,
        added: ScheduledJob | None = None,
        expected_version: int | None = None,
    ) -> EventHandler:
        """Write what a change makes of a handler, and of the job of its own."""

        def work(transaction: Transaction) -> EventHandler:
            before = _existing(transaction, tenant_id, handler_id)
            if expected_version not in {None, before.version}:
                raise VersionConflict(expected_version or 0, before.version)
            own = own_job(before)
            after = owning(change(before, transaction.now), own if added is None else added.id)
            _refuse_taken_handler_key(transaction, after)
            _decide(transaction, own, job)
            _insert_job(transaction, added)
            transaction.run(_HANDLERS["save_handler"], **handler_row(after))
            return _saved(transaction, after)

        return await self._database.write(work)

    async def remove(self, tenant_id: str, handler_id: UUID, *, job: JobDecision) -> None:
        """Remove a handler with all that waits for it."""

        def work(transaction: Transaction) -> None:
            # Told by its row alone, so that one that cannot be read can be removed too.
            own = _row(transaction, tenant_id, handler_id)["job_id"]
            _decide(transaction, None if own is None else UUID(own), job)
            transaction.run(_HANDLERS["remove_handler"], id=str(handler_id))
            transaction.run(_HANDLERS["raise_revision"])

        await self._database.write(work)

    async def registry(self, known: int | None) -> Registry | None:
        """Read every enabled handler, unless that is known."""

        def work(transaction: Transaction) -> Registry | None:
            [revision] = transaction.column(_HANDLERS["revision"])
            if revision == known:
                return None
            rows = transaction.rows(_HANDLERS["enabled_handlers"])
            return Registry(revision=revision, handlers=readable_handlers(rows))

        return await self._database.read(work)


def _existing(transaction: Transaction, tenant_id: str, handler_id: UUID) -> EventHandler:
    """Read a handler of a tenant, or raise EventHandlerNotFound, or Conflict if it cannot be read."""
    return read_asked_for(_row(transaction, tenant_id, handler_id), handler_of)


def _row(transaction: Transaction, tenant_id: str, handler_id: UUID) -> Row:
    """Find the row of a handler of a tenant, or raise EventHandlerNotFound."""
    row = transaction.row(_HANDLERS["handlers_by_ids"], ids=array([handler_id]))
    if row is None or row["tenant_id"] != tenant_id:
        raise EventHandlerNotFound(handler_id)
    return row


def _saved(transaction: Transaction, handler: EventHandler) -> EventHandler:
    """Let a handler listen as it is now, have every node read the handlers again, and answer it as it is stored."""
    transaction.run(_HANDLERS["deafen_handler"], handler_id=str(handler.id))
    listener = listener_row(handler)
    if listener is not None:
        transaction.run(_OUTBOX["listen"], **listener)
    transaction.run(_HANDLERS["raise_revision"])
    return _existing(transaction, handler.tenant_id, handler.id)


def _insert_job(transaction: Transaction, job: ScheduledJob | None) -> None:
    if job is not None:
        refuse_taken_key(transaction, job)
        insert(transaction, [job])


def _decide(transaction: Transaction, job_id: UUID | None, decide: JobDecision | None) -> None:
    """Decide about the job of its own, unless somebody has deleted that."""
    if job_id is None or decide is None:
        return
    for job in read_jobs(transaction, array([job_id])):
        if job.deleted_at is None:
            write_decision(transaction, job, decide)


def _refuse_taken_handler_key(transaction: Transaction, handler: EventHandler) -> None:
    """Raise Conflict if another handler of the tenant has the key already."""
    key = handler.definition.key
    if key is None:
        return
    taken = transaction.column(_HANDLERS["handler_with_key"], tenant_id=handler.tenant_id, key=key, id=str(handler.id))
    if taken:
        raise Conflict(f"another event handler has the key {key!r}", UUID(taken[0]))


def _conditions(query: EventHandlerFilter) -> Parameters:
    return {
        "event": array(query.event) if query.event else None,
        "key": array(query.key) if query.key else None,
        "enabled": query.enabled,
        "limit": query.limit,
        "offset": min(query.offset or 0, LARGEST),
    }
