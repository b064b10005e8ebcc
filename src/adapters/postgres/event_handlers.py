"""Event handlers at rest, over PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.errors import Conflict, EventHandlerNotFound, VersionConflict
from ...domain.event import Call, EventHandler
from ...domain.facts import may_be_fact
from ...domain.job import ScheduledJob
from ...domain.unreadable import decided
from ...ports.events import HandlerChange, JobDecision, Registry
from ...ports.queries import EventHandlerFilter
from ...ports.stores import Page
from . import filters
from .accounts import load
from .database import Database
from .event_handler_rows import handler_of, handler_row, listener_row, with_job
from .job_rows import definition_row
from .legible import legible, read_asked_for
from .new_jobs import insert_jobs, refuse_taken_key
from .plans import write_plans
from .races import NewerFlows, again_if_raced
from .statements import statements
from .transaction import Row, Transaction

_HANDLERS: Final = statements("event_handlers")
_JOBS: Final = statements("jobs")
_SAVED: Final = _HANDLERS["save_handler"].parameters


class PostgresEventHandlers:
    """Event handlers at rest, each call scoped to one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, handler: EventHandler, job: ScheduledJob | None) -> EventHandler:
        """Insert a handler, and the job of its own if it has one."""
        work = partial(_add, handler=handler if job is None else with_job(handler, job.id), job=job)
        return await again_if_raced(partial(self._database.change, work))

    async def get(self, tenant_id: str, handler_id: UUID) -> EventHandler:
        """Read one with its counters."""
        rows = await self._database.rows(_HANDLERS["handlers_by_ids"], ids=[handler_id])
        if not rows or rows[0]["tenant_id"] != tenant_id:
            raise EventHandlerNotFound(handler_id)
        return read_asked_for(handler_of, rows[0])

    async def list(self, tenant_id: str, query: EventHandlerFilter) -> Page[EventHandler]:
        """Read the handlers that match, those that act first first; what cannot be read is counted and left out."""

        async def work(transaction: Transaction) -> Page[EventHandler]:
            [found] = await transaction.rows(
                _HANDLERS["matching_handlers"],
                tenant_id=tenant_id,
                event=filters.any_of(query.event),
                key=filters.any_of(query.key),
                enabled=query.enabled,
                limit=query.limit,
                offset=filters.number(query.offset or 0),
            )
            rows = await transaction.rows(_HANDLERS["handlers_by_ids"], ids=found["ids"])
            return Page(
                items=legible(handler_of, rows),
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
        """Decide about a handler and write it."""
        edit = _Edit(change=change, job=job, added=added, expected_version=expected_version)
        work = partial(_change, tenant_id=tenant_id, handler_id=handler_id, edit=edit)
        return await again_if_raced(partial(self._database.change, work))

    async def remove(self, tenant_id: str, handler_id: UUID, *, job: JobDecision) -> None:
        """Remove a handler with its gatherings and keys."""

        async def work(transaction: Transaction) -> None:
            await transaction.run(_HANDLERS["raise_revision"])
            await transaction.run(_HANDLERS["lock_flows_of_handler"], handler_id=handler_id)
            await transaction.run(_HANDLERS["lock_gatherings_of_handler"], handler_id=handler_id)
            row = await _locked(transaction, tenant_id, handler_id, lock="lock_handler_to_remove")
            if await transaction.column(_HANDLERS["newer_flows"], handler_id=handler_id) != [0]:
                raise NewerFlows
            await _decide(transaction, row["job_id"], job)
            await transaction.run(_HANDLERS["remove_handler"], id=handler_id)

        await again_if_raced(partial(self._database.change, work))

    async def registry(self, known: int | None) -> Registry | None:
        """Read every enabled handler, unless nothing has changed."""
        rows = await self._database.rows(_HANDLERS["registry"], known=known)
        revision = rows[0]["revision"]
        if revision == known:
            return None
        return Registry(revision=revision, handlers=legible(handler_of, (row for row in rows if row["id"] is not None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """What is made of a handler, and of the job of its own."""

    change: HandlerChange
    job: JobDecision | None
    added: ScheduledJob | None
    expected_version: int | None


async def _add(transaction: Transaction, *, handler: EventHandler, job: ScheduledJob | None) -> EventHandler:
    await transaction.run(_HANDLERS["raise_revision"])
    await _refuse_taken(transaction, handler)
    await _insert_own(transaction, job)
    await transaction.run(_HANDLERS["insert_handler"], **handler_row(handler))
    await transaction.run(_HANDLERS["insert_handler_counters"], id=handler.id)
    await _listen(transaction, handler)
    return await _stored(transaction, handler.id)


async def _change(transaction: Transaction, *, tenant_id: str, handler_id: UUID, edit: _Edit) -> EventHandler:
    await transaction.run(_HANDLERS["raise_revision"])
    row = await _locked(transaction, tenant_id, handler_id)
    before = read_asked_for(handler_of, row)
    if edit.expected_version not in {None, before.version}:
        raise VersionConflict(edit.expected_version or 0, before.version)
    job_id = row["job_id"] if edit.added is None else edit.added.id
    after = with_job(edit.change(before, transaction.now), job_id)
    await _refuse_taken(transaction, after)
    if edit.job is not None:
        await _decide(transaction, row["job_id"], edit.job)
    await _insert_own(transaction, edit.added)
    # The job that the action names may be gone; that the row names is there.
    saved = {**handler_row(after), "job_id": job_id if isinstance(after.definition.action, Call) else None}
    await transaction.run(_HANDLERS["save_handler"], **{name: saved[name] for name in _SAVED})
    await _listen(transaction, after)
    return await _stored(transaction, handler_id)


async def _locked(transaction: Transaction, tenant_id: str, handler_id: UUID, *, lock: str = "lock_handler") -> Row:
    row = await transaction.row(_HANDLERS[lock], id=handler_id, tenant_id=tenant_id)
    if row is None:
        raise EventHandlerNotFound(handler_id)
    return row


async def _stored(transaction: Transaction, handler_id: UUID) -> EventHandler:
    [row] = await transaction.rows(_HANDLERS["handlers_by_ids"], ids=[handler_id])
    return handler_of(row)


async def _refuse_taken(transaction: Transaction, handler: EventHandler) -> None:
    """Raise Conflict if another handler has the key already."""
    key = handler.definition.key
    if key is None:
        return
    taken = await transaction.column(_HANDLERS["handler_with_key"], id=handler.id, tenant_id=handler.tenant_id, key=key)
    if taken:
        raise Conflict(f"another event handler has the key {key!r}", taken[0])


async def _insert_own(transaction: Transaction, job: ScheduledJob | None) -> None:
    if job is not None:
        await refuse_taken_key(transaction, job)
        await insert_jobs(transaction, [job])


async def _listen(transaction: Transaction, handler: EventHandler) -> None:
    """Have a handler listen to facts if it may hear any."""
    if handler.definition.enabled and may_be_fact(handler.definition.event):
        await transaction.run(_HANDLERS["save_listener"], **listener_row(handler))
    else:
        await transaction.run(_HANDLERS["remove_listener"], handler_id=handler.id)


async def _decide(transaction: Transaction, job_id: UUID | None, decide: JobDecision) -> None:
    """Decide about the job of its own that a handler has, if it was not removed."""
    rows = await transaction.rows(_JOBS["lock_own_job"], id=job_id) if job_id is not None else []
    accounts = Accounts(transaction.now)
    for job in await load(transaction, accounts, rows):
        plan = decided(job, transaction.now, decide)
        await refuse_taken_key(transaction, plan.job)
        await write_plans(transaction, accounts, [plan])
        if plan.change is not None:
            await transaction.run(_JOBS["save_definition"], **definition_row(plan.job))
