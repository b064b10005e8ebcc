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
        Refuse a payload that its handler could never run, and a function that no live node has.

        Raises:
            InvalidJob: names each field of the payload.
            HandlerNotFound: no live node has the function, and `allow_unknown` is False.
        """
        self.check_payload(definition)
        if definition.handler_type is HandlerType.FUNCTION and not allow_unknown:
            self.check_name(definition, await self.known([definition.capability]))

    def check_payload(self, definition: JobDefinition) -> None:
        """
        Refuse a payload that its handler could never run.

        Raises:
            InvalidJob: names each field of the payload.
        """
        self.handlers.check(definition.handler_type, definition.handler_name, definition.payload)

    def check_name(self, definition: JobDefinition, known: frozenset[str]) -> None:
        """
        Refuse a function that is not among the known capabilities.

        Raises:
            HandlerNotFound: it is not.
        """
        if definition.capability not in known:
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
