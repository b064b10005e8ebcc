"""Resolving: which event handlers an event concerns, and what each of them would do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final
from uuid import UUID

from ..domain.errors import TocsinError
from ..domain.event import DEPTH_LIMIT, Event, EventHandler, EventHandlerMode, action_name
from ..domain.flow import Gathering
from ..domain.impact import HandlerImpact, Touch
from ..domain.json import Json
from ..domain.patterns import matches
from ..domain.resolution import Match, Resolved
from ..domain.templates import placeholders
from ..ports.events import EventHandlerStore, HandlersChanged, Registry
from ..ports.expressions import Expressions, Failed
from .acts import act_of, template_of, text_of
from .event_words import variables_of

NAMES_KEPT: Final = 10_000
LONGEST_FLOW_KEY: Final = 255
_FOREIGN: Final = "the handler's expression failed"
"""Why a handler of another tenant refused an event: its own words are not for whoever published that."""


@dataclass(slots=True)
class _Known:
    """A registry with what was found out about names that came before."""

    registry: Registry
    by_name: dict[tuple[str, str], tuple[Sequence[EventHandler], int]] = field(default_factory=dict)

    def concerned(self, tenant_id: str, name: str) -> tuple[Sequence[EventHandler], int]:
        """Give the handlers whose pattern matches, those that act first first, and how many others there are."""
        found = self.by_name.get((tenant_id, name))
        if found is None:
            seeing = [handler for handler in self.registry.handlers if handler.sees(tenant_id)]
            named = [handler for handler in seeing if matches(handler.definition.event, name)]
            named.sort(key=lambda handler: (-handler.definition.priority, handler.id))
            if len(self.by_name) >= NAMES_KEPT:
                self.by_name.clear()
            found = self.by_name[tenant_id, name] = named, len(seeing) - len(named)
        return found


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a new event would do, and the handlers that were asked, by id and version: while they stay, so does it."""

    resolved: Resolved
    asked: Sequence[tuple[UUID, int]]


class Resolver:
    """Keeps the registry of event handlers at hand, and holds events against it."""

    def __init__(self, handlers: EventHandlerStore, expressions: Expressions) -> None:
        self._handlers = handlers
        self.expressions = expressions
        self._known: _Known | None = None

    async def revision(self, *, afresh: bool = False) -> int:
        """Tell at which revision events are resolved; `afresh` has the store asked whether that is still the newest."""
        if self._known is None or afresh:
            known = None if self._known is None else self._known.registry.revision
            registry = await self._handlers.registry(known)
            if registry is not None:
                self._known = _Known(registry)
        assert self._known is not None  # noqa: S101 - a store that knows no revision answers a registry
        return self._known.registry.revision

    async def resolve(self, event: Event) -> Resolution:
        """Hold a new event against every handler; at the end of a chain that is too long nobody is asked."""
        handlers, _ = self._asked(event)
        return Resolution(await self.held_against(handlers, event), _versions(handlers))

    def renewed(self, resolution: Resolution) -> Resolved:
        """
        Say what an event would do at the revision that is known now.

        Raises:
            HandlersChanged: not without asking, because the handlers that it concerns have changed.
        """
        handlers, others = self._asked(resolution.resolved.event)
        if _versions(handlers) != resolution.asked:
            raise HandlersChanged
        return replace(resolution.resolved, others=others)

    def concerns(self, event: Event) -> bool:
        """Tell whether the name of an event matches any handler's pattern."""
        return bool(self._concerned(event)[0])

    def synchronous(self, event: Event) -> frozenset[UUID]:
        """Tell which handlers of an event, all of its own tenant, the call that triggered it waits for."""
        return frozenset(
            handler.id
            for handler in self._concerned(event)[0]
            if handler.definition.mode is EventHandlerMode.SYNC and handler.tenant_id == event.tenant_id
        )

    def _asked(self, event: Event) -> tuple[Sequence[EventHandler], int]:
        return ((), 0) if event.depth > DEPTH_LIMIT else self._concerned(event)

    def _concerned(self, event: Event) -> tuple[Sequence[EventHandler], int]:
        return ((), 0) if self._known is None else self._known.concerned(event.tenant_id, event.name)

    async def held_against(self, handlers: Sequence[EventHandler], event: Event) -> Resolved:
        """Hold an event against handlers whose pattern matches, filter and all, and say what each would do."""
        if not handlers:
            return Resolved(event=event)
        variables = variables_of([event])
        left_out: list[HandlerImpact] = []
        passed = []
        truths = await self._evaluated({each.definition.filter for each in handlers}, variables)
        for handler in handlers:
            refusal = _filtered(handler, event, truths)
            if refusal is None:
                passed.append(handler)
            else:
                left_out.append(refusal)
        told: Mapping[str, Json] = {"event": variables["event"]}
        matched, refused = await self._acting(passed, event, variables, told)
        return Resolved(event=event, matches=tuple(matched), left_out=(*left_out, *refused))

    async def gathered(self, handler: EventHandler, gathering: Gathering, events: Sequence[Event]) -> Resolved:
        """Say what a handler does about the events that it held, the newest of which stands for all."""
        variables = variables_of(events)
        # They may have been gathered by limits that the handler had before.
        is_batch = handler.definition.flow.batch is not None or len(events) > 1
        told = {"events": variables["events"]} if is_batch else {"event": variables["event"]}
        matched, refused = await self._acting([handler], events[-1], variables, told)
        closing = tuple(replace(match, flow_key=None, gathering=gathering) for match in matched)
        return Resolved(event=events[-1], matches=closing, left_out=tuple(refused), gathering=gathering)

    async def _acting(
        self,
        handlers: Sequence[EventHandler],
        event: Event,
        variables: Mapping[str, Json],
        told: Mapping[str, Json],
    ) -> tuple[list[Match], list[HandlerImpact]]:
        wanted = {handler.id: placeholders(template_of(handler.definition.action)) for handler in handlers}
        keys = {handler.definition.flow.key for handler in handlers}
        results = await self._evaluated({*keys, *(text for texts in wanted.values() for text in texts)}, variables)
        matched: list[Match] = []
        refused: list[HandlerImpact] = []
        for handler in handlers:
            try:
                used = _succeeded(wanted[handler.id], results)
                act = act_of(handler, event, told, used)
                matched.append(Match(handler=handler, act=act, flow_key=_flow_key(handler, event, results)))
            except _Refusal as refusal:
                refused.append(_refused(handler, event, refusal.reason))
            except TocsinError as error:
                refused.append(_refused(handler, event, error.message))
            if wanted[handler.id]:
                # What was rendered may be large, and much of it may follow.
                await asyncio.sleep(0)
        return matched, refused

    async def _evaluated(
        self, expressions: Iterable[str | None], variables: Mapping[str, Json]
    ) -> Mapping[str, Json | Failed]:
        wanted = [expression for expression in expressions if expression is not None]
        if not wanted:
            return {}
        return dict(zip(wanted, await self.expressions.evaluate(wanted, variables), strict=True))


class _Refusal(Exception):
    """Why a handler cannot act."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _versions(handlers: Iterable[EventHandler]) -> Sequence[tuple[UUID, int]]:
    return [(handler.id, handler.version) for handler in handlers]


def _refused(handler: EventHandler, event: Event, reason: str) -> HandlerImpact:
    return _untouched(handler, Touch.REFUSED, reason if handler.tenant_id == event.tenant_id else _FOREIGN)


def _untouched(handler: EventHandler, touch: Touch, reason: str | None) -> HandlerImpact:
    """Word that a handler does nothing about an event whose name matched."""
    return HandlerImpact(
        handler_id=handler.id,
        handler_version=handler.version,
        touch=touch,
        action=action_name(handler.definition.action),
        reason=reason,
    )


def _filtered(handler: EventHandler, event: Event, truths: Mapping[str, Json | Failed]) -> HandlerImpact | None:
    """Say why a handler's filter keeps it from acting; None if it does not."""
    expression = handler.definition.filter
    truth = True if expression is None else truths[expression]
    if truth is True:
        return None
    if truth is False:
        return _untouched(handler, Touch.FILTERED, None)
    if isinstance(truth, Failed):
        return _refused(handler, event, f"filter: {truth.reason}")
    return _refused(handler, event, "filter: comes to neither true nor false")


def _succeeded(expressions: Iterable[str], results: Mapping[str, Json | Failed]) -> dict[str, Json]:
    used: dict[str, Json] = {}
    for expression in expressions:
        result = results[expression]
        if isinstance(result, Failed):
            raise _Refusal(f"action: {expression}: {result.reason}")
        used[expression] = result
    return used


def _flow_key(handler: EventHandler, event: Event, results: Mapping[str, Json | Failed]) -> str | None:
    flow = handler.definition.flow
    if flow.is_free:
        return None
    key = "" if flow.key is None else _key_of(results[flow.key])
    if not handler.definition.every_tenant:
        return key
    # What one tenant does neither counts for another nor reaches it.
    return f"{event.tenant_id}/{sha256(key.encode()).hexdigest()}"


def _key_of(result: Json | Failed) -> str:
    if isinstance(result, Failed):
        raise _Refusal(f"flow.key: {result.reason}")
    key = text_of(result)
    if len(key) > LONGEST_FLOW_KEY:
        raise _Refusal(f"flow.key: comes to more than {LONGEST_FLOW_KEY} characters")
    return key


def without_flow(resolved: Resolved, handler_id: UUID) -> Resolved:
    """Have one handler act at once, as a replay does."""
    kept = tuple(replace(match, flow_key=None) for match in resolved.matches if match.handler.id == handler_id)
    return replace(resolved, matches=kept, replayed=True)
