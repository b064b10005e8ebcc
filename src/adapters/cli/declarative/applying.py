"""Planning what files declare, and carrying the plan out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Final
from uuid import UUID

from ....application.declared_handlers import DeclaredHandlers
from ....application.declared_jobs import DEFAULTS, DeclaredJobs
from ....application.declaring import RACES
from ....domain.errors import Conflict, EventHandlerNotFound, InvalidInput, TocsinError
from ....domain.json import Json
from ....domain.reconciliation import Declaration, Fate, FieldChange, Step, Terms, prunes_everything, reconcile
from ....ports.scheduler import IScheduler
from ..request_sizes import in_requests
from .entries import Entry, Wishes
from .unseen import without_secrets

_AT_ONCE: Final = 8


class Kind(StrEnum):
    """What a line is about."""

    JOB = "job"
    EVENT_HANDLER = "event_handler"

    @property
    def words(self) -> str:
        """Say it to people."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """
    What becomes of one job or event handler.

    `scope` is whose it is afterwards, None for what people made; `place` the file and line that declares it; `detail`
    what a new one does; `error` why the step was not taken. Its `changes` show no secrets.
    """

    kind: Kind
    key: str
    fate: Fate
    id: UUID | None = None
    scope: str | None = None
    place: str | None = None
    detail: str | None = None
    changes: Sequence[FieldChange] = ()
    adopted: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an application would come to, or came to: a line for each thing that is declared, or was before."""

    scope: str
    applied: bool
    lines: Sequence[Line]

    def count(self, *fates: Fate) -> int:
        """Count the lines of these fates that nothing went wrong with."""
        return sum(line.fate in fates and line.error is None for line in self.lines)

    @property
    def failed(self) -> Sequence[Line]:
        """The lines whose step was not taken."""
        return [line for line in self.lines if line.error is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps towards what some files declare: jobs come first, since event handlers may name them."""

    wishes: Wishes
    jobs: Sequence[Step]
    event_handlers: Sequence[Step]

    @property
    def steps(self) -> Iterator[tuple[Kind, Step]]:
        """All steps, with what they are about."""
        yield from ((Kind.JOB, step) for step in self.jobs)
        yield from ((Kind.EVENT_HANDLER, step) for step in self.event_handlers)

    @property
    def prunes_everything(self) -> bool:
        """Whether nothing would be left of what the scope declared before."""
        return prunes_everything(self.jobs, self.wishes.scope)

    def report(self) -> Report:
        """Tell what would become of each."""
        entries = self._entries()
        lines = [_line(kind, step, entries.get(_name(kind, step.declaration))) for kind, step in self.steps]
        return Report(scope=self.wishes.scope, applied=False, lines=lines)

    def _entries(self) -> Mapping[object, Entry]:
        jobs = ((Kind.JOB, entry) for entry in self.wishes.jobs)
        handlers = ((Kind.EVENT_HANDLER, entry) for entry in self.wishes.event_handlers)
        return {_name(kind, entry.declaration): entry for kind, entry in chain(jobs, handlers)}


async def plan(scheduler: IScheduler, wishes: Wishes, *, prune: bool, adopt: bool) -> Plan:
    """Hold what the files declare against what is there; nothing is changed."""
    terms = Terms(scope=wishes.scope, defaults=DEFAULTS, prune=prune, adopt=adopt)
    jobs = [entry.declaration for entry in wishes.jobs]
    handlers = [entry.declaration for entry in wishes.event_handlers]
    standing = await DeclaredJobs(scheduler=scheduler).standing(jobs, scope=wishes.scope)
    return Plan(
        wishes=wishes,
        jobs=reconcile(jobs, standing, terms),
        # Nothing keeps who made an event handler, so that there is nothing to take over.
        event_handlers=reconcile(
            handlers, await DeclaredHandlers(scheduler=scheduler).standing(handlers), replace(terms, adopt=False)
        ),
    )


async def carry_out(scheduler: IScheduler, planned: Plan, *, allow_unknown_handler: bool) -> Report:
    """Take the steps of a plan; one that fails does not hinder the others. What is pruned comes last."""
    jobs = DeclaredJobs(scheduler=scheduler, allow_unknown_handler=allow_unknown_handler)
    handlers = DeclaredHandlers(scheduler=scheduler)
    taking = _Taking()
    await taking.create([step for step in planned.jobs if step.fate is Fate.CREATE], jobs)
    await taking.each([step for step in planned.jobs if step.fate is Fate.CHANGE], jobs)
    await taking.each([step for step in planned.event_handlers if step.does_something], handlers)
    await taking.each([step for step in planned.jobs if step.fate is Fate.PRUNE], jobs)
    told = planned.report()
    lines = zip(told.lines, (step for _, step in planned.steps), strict=True)
    return replace(told, applied=True, lines=[_done(line, taking.outcomes.get(id(step))) for line, step in lines])


@dataclass(frozen=True, slots=True)
class _Taking:
    """Steps as they are taken, some at once, and what came of each, by its identity."""

    outcomes: dict[int, UUID | TocsinError | None] = field(default_factory=dict)
    turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def create(self, steps: Sequence[Step], jobs: DeclaredJobs) -> None:
        """Make new jobs, many with one request; if that is refused, one by one, to tell which is at fault."""
        for batch in in_requests(steps, _document):
            try:
                ids = await jobs.create_all(batch)
            except (InvalidInput, Conflict):
                await self.each(batch, jobs)
            else:
                self.outcomes.update(zip(map(id, batch), ids, strict=True))

    async def each(self, steps: Iterable[Step], doer: DeclaredJobs | DeclaredHandlers) -> None:
        """Take steps that do not depend on each other."""
        await asyncio.gather(*(self._one(step, doer) for step in steps))

    async def _one(self, step: Step, doer: DeclaredJobs | DeclaredHandlers) -> None:
        async with self.turn:
            try:
                self.outcomes[id(step)] = await doer.do(step)
            except (InvalidInput, EventHandlerNotFound, *RACES) as error:
                self.outcomes[id(step)] = error


def _document(step: Step) -> Json:
    return {} if step.declaration is None else step.declaration.fields


def _line(kind: Kind, step: Step, entry: Entry | None) -> Line:
    return Line(
        kind=kind,
        key=step.key,
        fate=step.fate,
        id=None if step.standing is None else step.standing.id,
        # Nothing tells whose an event handler is.
        scope=None if step.owner is None or kind is Kind.EVENT_HANDLER else step.owner.scope,
        place=None if entry is None else f"{entry.source.name}:{entry.source.line(entry.path)}",
        detail=_detail(step.declaration) if step.fate is Fate.CREATE else None,
        changes=[*map(without_secrets, step.changes)],
        adopted=step.takes_over,
    )


def _detail(declaration: Declaration | None) -> str | None:
    """Say in a few words what a new one does: when, and what."""
    fields = {} if declaration is None else declaration.fields
    action = fields.get("action")
    if isinstance(action, Mapping):
        return f"on {fields.get('event')}: {action.get('type')}"
    zone = f" {fields['timezone']}" if fields.get("timezone") not in {None, "UTC"} else ""
    return f"{fields.get('schedule') or 'on demand'}{zone}: {fields.get('handler_name')}"


def _done(line: Line, outcome: UUID | TocsinError | None) -> Line:
    match outcome:
        case InvalidInput():
            return replace(line, error="; ".join(f"{each.field}: {each.message}" for each in outcome.errors))
        case TocsinError():
            return replace(line, error=f"it changed meanwhile ({outcome.message}); apply again")
        case UUID():
            return replace(line, id=outcome)
        case _:
            return line


def _name(kind: Kind, declaration: Declaration | None) -> object:
    return None if declaration is None else (kind, declaration.key, declaration.handler_name)
