"""Event handlers as their callers make, change and remove them, each with the job of its own where it calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from ..domain import lifecycle
from ..domain.definition import TEXT_BOUNDS
from ..domain.errors import Conflict, EventHandlerNotFound, InvalidEventHandler, InvalidTransition, JobNotFound
from ..domain.event import Call, EventHandler, EventHandlerDefinition, RunJob
from ..domain.event_definition import expressions_of, validate_handler
from ..domain.job import HandlerType, JobDefinition, JobType, OverlapPolicy, ScheduledJob
from ..domain.plan import Plan
from ..domain.templates import placeholders
from ..ports.conflicts import OnConflict
from ..ports.events import JobDecision
from ..ports.expressions import Expressions
from ..ports.queries import EventHandlerFilter
from ..ports.storage import Storage
from .known_handlers import KnownHandlers
from .planning import Planning

_NAMES: Final = frozenset(field.name for field in fields(EventHandlerDefinition))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHandlers:
    """The standing rules of one tenant; changes are recorded under `actor`."""

    storage: Storage
    planning: Planning
    expressions: Expressions
    known: KnownHandlers
    tenant_id: str
    actor: str | None

    async def add(self, definition: EventHandlerDefinition, on_conflict: OnConflict) -> EventHandler:
        """Add one (`IScheduler.on_event`)."""
        definition = await self._checked(definition)

        async def declared(_: EventHandlerDefinition) -> EventHandlerDefinition:
            return definition

        if on_conflict is OnConflict.ERROR:
            return await self._add(definition)
        while True:
            # Whoever has the key may go, or come, between two steps: then the steps are taken again.
            with suppress(Conflict, EventHandlerNotFound):
                existing = await self._holder_of_key(definition)
                if existing is None:
                    return await self._add(definition)
                if on_conflict is OnConflict.KEEP or _is_same(existing.definition, definition):
                    return existing
                return await self._redefine(existing.id, declared, None)

    async def update(
        self, handler_id: UUID, changes: Mapping[str, Any], *, expected_version: int | None
    ) -> EventHandler:
        """Change the named fields of one (`IScheduler.update_event_handler`)."""
        if unknown := changes.keys() - _NAMES:
            raise InvalidEventHandler.of(min(unknown), "is not a known field")

        async def edit(existing: EventHandlerDefinition) -> EventHandlerDefinition:
            return await self._checked(replace(existing, **changes))

        return await self._redefine(handler_id, edit, expected_version)

    async def remove(self, handler_id: UUID) -> None:
        """Remove one (`IScheduler.remove_event_handler`)."""
        await self.storage.event_handlers.remove(self.tenant_id, handler_id, job=self._decision(lifecycle.delete))

    async def _add(self, definition: EventHandlerDefinition) -> EventHandler:
        now = await self.storage.jobs.now()
        job = self._own_job(definition, now)
        handler = EventHandler(
            id=self.planning.new_id(now),
            tenant_id=self.tenant_id,
            definition=_calling(definition, job),
            created_at=now,
            updated_at=now,
            created_by=self.actor,
        )
        return await self.storage.event_handlers.add(handler, job)

    async def _redefine(self, handler_id: UUID, edit: _Edit, expected_version: int | None) -> EventHandler:
        while True:
            # Whoever changes it, or ends its job, between two steps loses nothing by this: the steps are taken again.
            with suppress(_Changed, InvalidTransition):
                existing = await self.storage.event_handlers.get(self.tenant_id, handler_id)
                wanted = await edit(existing.definition)
                return await self._redefine_as_read(existing, wanted, expected_version)

    async def _redefine_as_read(
        self, existing: EventHandler, definition: EventHandlerDefinition, expected_version: int | None
    ) -> EventHandler:
        """
        Give a handler another definition, made of the one it has.

        Raises:
            _Changed: it has another one meanwhile.
            InvalidTransition: somebody has ended the job of its own meanwhile.
        """
        own_id = await self._live_job(existing.definition)
        added = self._own_job(definition, await self.storage.jobs.now()) if own_id is None else None

        def change(handler: EventHandler, now: datetime) -> EventHandler:
            if handler.version != existing.version:
                raise _Changed
            kept = definition
            if isinstance(definition.action, Call):
                kept = replace(definition, action=replace(definition.action, job_id=added.id if added else own_id))
            return replace(handler, definition=kept, version=handler.version + 1, updated_at=now)

        return await self.storage.event_handlers.change(
            self.tenant_id,
            existing.id,
            change,
            job=self._following(definition) if own_id else None,
            added=added,
            expected_version=expected_version,
        )

    async def _live_job(self, definition: EventHandlerDefinition) -> UUID | None:
        """Name the job of its own that a handler has, unless it ended: then it needs another."""
        if not isinstance(definition.action, Call) or definition.action.job_id is None:
            return None
        try:
            job = await self.storage.jobs.get(self.tenant_id, definition.action.job_id)
        except JobNotFound:
            return None
        return None if job.status in lifecycle.ENDED else job.id

    def _following(self, definition: EventHandlerDefinition) -> JobDecision:
        """Say what becomes of the job of its own that a handler had."""
        if not isinstance(definition.action, Call):
            return self._decision(lifecycle.delete)
        wanted = own_definition(definition, definition.action)
        return self._decision(lambda job, moment: lifecycle.update(job, wanted, moment))

    def _decision(self, change: Callable[[ScheduledJob, lifecycle.Moment], Plan]) -> JobDecision:
        return lambda job, now: change(job, self.planning.moment(now, self.actor))

    def _own_job(self, definition: EventHandlerDefinition, now: datetime) -> ScheduledJob | None:
        if not isinstance(definition.action, Call):
            return None
        moment = self.planning.moment(now, self.actor)
        wanted = own_definition(definition, definition.action)
        return lifecycle.create(wanted, moment, tenant_id=self.tenant_id, paused=False)

    async def _holder_of_key(self, definition: EventHandlerDefinition) -> EventHandler | None:
        if definition.key is None:
            return None
        query = EventHandlerFilter(key=(definition.key,), limit=1)
        return next(iter((await self.storage.event_handlers.list(self.tenant_id, query)).items), None)

    async def _checked(self, definition: EventHandlerDefinition) -> EventHandlerDefinition:
        """Hold a definition against its bounds, its expressions against their language, its action against what is."""
        kept = validate_handler(definition)
        for field, expression in expressions_of(kept):
            self.expressions.check(field, expression)
        if isinstance(kept.action, RunJob):
            await self.storage.jobs.get(self.tenant_id, kept.action.job_id)
        if isinstance(kept.action, Call):
            wanted = own_definition(kept, kept.action)
            if not placeholders(kept.action.payload):
                await self.known.check(wanted)
        return kept


def own_definition(definition: EventHandlerDefinition, call: Call) -> JobDefinition:
    """
    Word the job that a handler has for its calls; its runs bring their payload along.

    Unless the options say how many may run at once, none waits for another: events are not of one series.
    """
    options: dict[str, Any] = dict(call.options)
    if not options.keys() & {"concurrency", "overlap_policy"}:
        options["overlap_policy"] = OverlapPolicy.ALLOW_ALL
    return JobDefinition(
        **{
            "name": definition.name or f"on {definition.event}"[: TEXT_BOUNDS["name"][1]],
            "type": JobType.EVENT,
            "handler_name": call.handler_name,
            "handler_type": HandlerType(call.handler_type),
            "payload": None if placeholders(call.payload) else call.payload,
            **options,
            "tags": tuple(options.get("tags", ())),
        }
    )


class _Changed(Exception):
    """A handler is not as it was read any more."""


_Edit: TypeAlias = Callable[[EventHandlerDefinition], Awaitable[EventHandlerDefinition]]
"""What a change makes of a definition; raises where that breaks a bound."""


def _calling(definition: EventHandlerDefinition, job: ScheduledJob | None) -> EventHandlerDefinition:
    if job is None or not isinstance(definition.action, Call):
        return definition
    return replace(definition, action=replace(definition.action, job_id=job.id))


def _is_same(existing: EventHandlerDefinition, declared: EventHandlerDefinition) -> bool:
    """Tell whether a declaration repeats what is there, so that it makes no new version."""
    if isinstance(existing.action, Call):
        existing = replace(existing, action=replace(existing.action, job_id=None))
    return existing == declared
