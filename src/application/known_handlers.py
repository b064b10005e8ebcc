"""Which handlers there are: those of this process, and those that live nodes told of."""

from __future__ import annotations

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
        self.handlers.check(definition.handler_type, definition.handler_name, definition.payload)
        if definition.handler_type is not HandlerType.FUNCTION or allow_unknown:
            return
        known = self.handlers.capabilities()
        if definition.capability in known:
            return
        now = await self.storage.jobs.now()
        for worker in await self.storage.workers.list():
            if worker.is_live(now):
                known |= set(worker.capabilities)
        if definition.capability not in known:
            prefix = f"{HandlerType.FUNCTION.value}/"
            names = [name.removeprefix(prefix) for name in known if name.startswith(prefix)]
            raise HandlerNotFound(definition.handler_name, names)
