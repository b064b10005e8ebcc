"""Event handlers, in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from ...domain.errors import Conflict, VersionConflict
from ...domain.event import Call, EventHandler
from ...domain.job import ScheduledJob
from ...domain.plan import Plan, first_version
from ...ports.events import HandlerChange, JobDecision, Registry
from ...ports.queries import EventHandlerFilter
from ...ports.stores import Page
from .database import MemoryDatabase
from .documents import detached_execution, detached_handler, detached_job
from .jobs import refuse_taken_key
from .transactions import write


class MemoryEventHandlers:
    """Event handlers at rest, each call scoped to one tenant."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    async def add(self, handler: EventHandler, job: ScheduledJob | None) -> EventHandler:
        """Insert a handler, and the job of its own."""
        stored = detached_handler(_owning(handler, None if job is None else job.id))
        self._refuse_taken_key(stored)
        self._add_job(job)
        return self._saved(stored)

    async def get(self, tenant_id: str, handler_id: UUID) -> EventHandler:
        """Read one handler."""
        return detached_handler(self._database.handler(tenant_id, handler_id))

    async def list(self, tenant_id: str, query: EventHandlerFilter) -> Page[EventHandler]:
        """Read the handlers that match, those that act first first."""
        handlers = (handler for handler in self._database.handlers.values() if handler.tenant_id == tenant_id)
        found = sorted((handler for handler in handlers if _matches(query, handler)), key=_order)
        start = query.offset or 0
        shown = found[start : start + query.limit]
        return Page(
            items=[detached_handler(handler) for handler in shown],
            total=len(found),
            limit=query.limit,
            offset=query.offset,
            next_cursor=None,
        )

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
        now = self._database.now()
        before = self._database.handler(tenant_id, handler_id)
        if expected_version not in {None, before.version}:
            raise VersionConflict(expected_version or 0, before.version)
        own = _own_job(before)
        changed = change(detached_handler(before), now)
        after = detached_handler(_owning(changed, own if added is None else added.id))
        self._refuse_taken_key(after)
        plan = self._plan(own, job, now)
        self._add_job(added)
        self._write(plan, now)
        return self._saved(replace(after, counters=before.counters))

    async def remove(self, tenant_id: str, handler_id: UUID, *, job: JobDecision) -> None:
        """Remove a handler with all that waits for it."""
        now = self._database.now()
        handler = self._database.handler(tenant_id, handler_id)
        self._write(self._plan(_own_job(handler), job, now), now)
        del self._database.handlers[handler_id]
        self._database.events.drop_handler(handler_id)
        self._database.outbox.unfollow(handler_id)
        self._database.revision += 1

    async def registry(self, known: int | None) -> Registry | None:
        """Read every enabled handler, unless that is known."""
        if known == self._database.revision:
            return None
        enabled = (handler for handler in self._database.handlers.values() if handler.definition.enabled)
        return Registry(
            revision=self._database.revision,
            handlers=[detached_handler(handler) for handler in sorted(enabled, key=_order)],
        )

    def _saved(self, handler: EventHandler) -> EventHandler:
        self._database.handlers[handler.id] = handler
        self._database.outbox.follow(handler)
        self._database.revision += 1
        return detached_handler(handler)

    def _refuse_taken_key(self, handler: EventHandler) -> None:
        key = handler.definition.key
        for other in self._database.handlers.values() if key is not None else ():
            if (other.tenant_id, other.definition.key) == (handler.tenant_id, key) and other.id != handler.id:
                raise Conflict(f"another event handler has the key {key!r}", other.id)

    def _add_job(self, job: ScheduledJob | None) -> None:
        if job is not None:
            refuse_taken_key(self._database, job)
            stored = detached_job(job)
            self._database.save(Plan(job=stored, change=first_version(stored)))

    def _plan(self, job_id: UUID | None, decide: JobDecision | None, now: datetime) -> Plan | None:
        """Decide about the job of its own, unless somebody has deleted that."""
        job = self._database.jobs.get(job_id) if job_id is not None else None
        if decide is None or job is None or job.deleted_at is not None:
            return None
        plan = decide(detached_job(job), now)
        refuse_taken_key(self._database, plan.job)
        rows = tuple(detached_execution(row) for row in plan.executions)
        return replace(plan, job=detached_job(plan.job), executions=rows)

    def _write(self, plan: Plan | None, now: datetime) -> None:
        if plan is not None:
            write(self._database, plan, now)


def _own_job(handler: EventHandler) -> UUID | None:
    action = handler.definition.action
    return action.job_id if isinstance(action, Call) else None


def _owning(handler: EventHandler, job_id: UUID | None) -> EventHandler:
    """Name the job of its own in the action that has one."""
    definition = handler.definition
    if not isinstance(definition.action, Call):
        return handler
    return replace(handler, definition=replace(definition, action=replace(definition.action, job_id=job_id)))


def _order(handler: EventHandler) -> tuple[int, UUID]:
    return -handler.definition.priority, handler.id


def _matches(query: EventHandlerFilter, handler: EventHandler) -> bool:
    definition = handler.definition
    return (
        (not query.event or definition.event in query.event)
        and (not query.key or definition.key in query.key)
        and query.enabled in {None, definition.enabled}
    )
