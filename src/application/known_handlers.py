"""Which handlers there are: those of this process, and those that live nodes told of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..domain.errors import HandlerNotFound
from ..domain.job import HandlerType, JobDefinition
from ..ports.handlers import Handlers
from ..ports.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHandlers:
    """Refuses jobs that nobody could run."""

    handlers: Handlers
    storage: Storage

    async def check(self, definition: JobDefinition, *, allow_unknown: bool = False) -> None:
        """
        Refuse a payload that its handler could never run, and what no live node can run.

        Raises:
            InvalidJob: names each field of the payload, or a type that no live node has.
            HandlerNotFound: no live node has the function, and `allow_unknown` is False.
        """
        may_be_anywhere = allow_unknown and definition.handler_type is HandlerType.FUNCTION
        known = frozenset[str]() if may_be_anywhere else await self.known([definition.capability])
        self.judge(definition, known, allow_unknown=allow_unknown)

    def judge(self, definition: JobDefinition, known: frozenset[str], *, allow_unknown: bool = False) -> None:
        """
        Do what `check` does, by capabilities that were asked for before.

        Raises:
            InvalidJob, HandlerNotFound: as for `check`.
        """
        self.handlers.check(definition.handler_type, definition.handler_name, definition.payload, known=known)
        if definition.handler_type is HandlerType.FUNCTION and not allow_unknown and definition.capability not in known:
            prefix = f"{HandlerType.FUNCTION.value}/"
            names = [name.removeprefix(prefix) for name in known if name.startswith(prefix)]
            raise HandlerNotFound(definition.handler_name, names)

    async def known(self, wanted: Collection[str]) -> frozenset[str]:
        """Give the capabilities of this process and, if those lack any that is wanted, of all live nodes."""
        known = self.handlers.capabilities()
        if known >= set(wanted):
            return known
        now = await self.storage.jobs.now()
        for worker in await self.storage.workers.list():
            if worker.is_live(now):
                known |= set(worker.capabilities)
        return known
