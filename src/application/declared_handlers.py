"""
Event handlers as declarations see them: what is there, and the steps that bring it to what is declared.

Their documents are those of `domain.event_documents`, but that `run_job` names its job by the key (`job`), as a
declaration may, and that `call` leaves out the job of its own. Nothing tells who made one, so none is ever pruned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

from ..domain.errors import InvalidEventHandler, JobNotFound
from ..domain.event import EventHandler, RunJob
from ..domain.event_documents import handler_document, handler_from_document
from ..domain.json import Json
from ..domain.reconciliation import Declaration, Fate, Standing, Step
from ..ports.queries import LIMIT_BOUNDS, EventHandlerFilter, JobFilter
from ..ports.scheduler import IScheduler
from .declared_jobs import HOLDING, key_batches

_NOT_STATED: Final = frozenset({"key", "every_tenant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredHandlers:
    """The event handlers of one scheduler, read and written for declarations."""

    scheduler: IScheduler

    async def standing(self, declared: Iterable[Declaration]) -> list[Standing]:
        """Read the event handlers that have the keys of these."""
        by_key = {each.key: _names_job(each.fields["action"]) for each in declared}
        queries = [EventHandlerFilter(key=keys, limit=LIMIT_BOUNDS[1]) for keys in key_batches(by_key)]
        found = [each for query in queries for each in (await self.scheduler.list_event_handlers(query)).items]
        return [await self._standing(each, by_key=by_key[each.definition.key or ""]) for each in found]

    async def every(self) -> list[Standing]:
        """Read all event handlers."""
        found: list[EventHandler] = []
        while True:
            page = await self.scheduler.list_event_handlers(
                EventHandlerFilter(limit=LIMIT_BOUNDS[1], offset=len(found))
            )
            found.extend(page.items)
            if not page.items or len(found) >= page.total:
                return [await self._standing(each, by_key=True) for each in found]

    async def do(self, step: Step) -> UUID | None:
        """
        Take one step, if nothing has changed since it was planned; answer the event handler's id.

        Raises:
            Conflict, VersionConflict, EventHandlerNotFound: something changed meanwhile; nothing was written.
            InvalidInput: the scheduler refuses the definition, or no job, or several, have the key that it names.
        """
        if step.standing is None:
            stated = {} if step.declaration is None else step.declaration.fields
            definition = handler_from_document({**await self._with_ids(stated), "key": step.key})
            return (await self.scheduler.on_event(definition)).id
        if step.fate is Fate.CHANGE:
            wanted = {**step.standing.fields, **{change.field: change.after for change in step.changes}}
            definition = handler_from_document({**await self._with_ids(wanted), "key": step.key})
            changes = {change.field: getattr(definition, change.field) for change in step.changes}
            await self.scheduler.update_event_handler(
                step.standing.id, expected_version=step.standing.version, **cast("Any", changes)
            )
        return step.standing.id

    async def _standing(self, handler: EventHandler, *, by_key: bool) -> Standing:
        written = handler_document(handler.definition)
        fields = {name: value for name, value in written.items() if name not in _NOT_STATED}
        action = fields["action"]
        if isinstance(action, Mapping):
            fields["action"] = await self._shown(handler, action, by_key=by_key)
        return Standing(id=handler.id, version=handler.version, key=handler.definition.key, fields=fields)

    async def _shown(self, handler: EventHandler, action: Mapping[str, Json], *, by_key: bool) -> Json:
        without = {name: value for name, value in action.items() if name != "job_id"}
        if not isinstance(handler.definition.action, RunJob):
            return without
        key = await self._key_of(handler.definition.action.job_id) if by_key else None
        return action if key is None else {**without, "job": key}

    async def _key_of(self, job_id: UUID) -> str | None:
        try:
            job = await self.scheduler.get_job(job_id)
        except JobNotFound:
            return None
        # Another job may have the key of one that was cancelled.
        return job.definition.key if job.status in HOLDING else None

    async def _with_ids(self, fields: Mapping[str, Json]) -> dict[str, Json]:
        action = fields.get("action")
        if not isinstance(action, Mapping) or not _names_job(action):
            return dict(fields)
        without = {name: value for name, value in action.items() if name != "job"}
        return {**fields, "action": {**without, "job_id": str(await self._job_with(str(action["job"])))}}

    async def _job_with(self, key: str) -> UUID:
        found = (await self.scheduler.list_jobs(JobFilter(key=(key,), status=HOLDING))).items
        if len(found) != 1:
            many = "no job has" if not found else f"{len(found)} jobs have"
            raise InvalidEventHandler.of("action.job", f"{many} the key {key!r}; name one by job_id")
        return found[0].id


def _names_job(action: Json) -> bool:
    """Tell whether an action names the job that it runs by the key."""
    return isinstance(action, Mapping) and action.get("type") == "run_job" and "job" in action
