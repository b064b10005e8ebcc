"""What a store keeps of versions of a job: a definition where it was changed, none where a version left it alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from .json import Json
from .plan import JobChange

AS_IT_STANDS: Final[Json] = MappingProxyType({})
"""
In place of what a version recorded of its job: this very object, where the job stands so word for word.

Most jobs do, and to compare two texts is a small part of what it takes to read one.
"""


def kept_of(change: JobChange) -> tuple[Json, Json]:
    """Give what is stored of `before` and `after`."""
    before, after = change.before, change.after
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return before, after
    # One and the same document, not only an equal one.
    if before["definition"] is not after["definition"]:
        return before, after
    return _without_definition(before), _without_definition(after)


@dataclass(slots=True)
class Definitions:
    """Completes versions of one job, read oldest first."""

    _latest: Json = None

    def know(self, definition: Json) -> None:
        """Take note of the definition that the version before the next one had, where that is not read itself."""
        self._latest = definition

    def whole(self, before: Json, after: Json) -> tuple[Json, Json]:
        """Give `before` and `after` as they were recorded; what is `AS_IT_STANDS` stays so."""
        if after is AS_IT_STANDS:
            self.know(AS_IT_STANDS)
        elif isinstance(after, Mapping) and "definition" in after:
            self.know(after["definition"])
        elif isinstance(before, Mapping) and isinstance(after, Mapping):
            return {"definition": self._latest, **before}, {"definition": self._latest, **after}
        return before, after


def _without_definition(recorded: Mapping[str, Json]) -> Json:
    return {name: value for name, value in recorded.items() if name != "definition"}
