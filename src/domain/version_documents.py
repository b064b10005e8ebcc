"""What a store keeps of versions of a job: a definition where it was changed, none where a version left it alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .json import Json
from .plan import JobChange


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
    """Completes versions of one job, read oldest first; `latest` is the definition that the last one had."""

    latest: Json = None

    def whole(self, before: Json, after: Json) -> tuple[Json, Json]:
        """Give `before` and `after` as they were recorded."""
        if isinstance(after, Mapping) and "definition" in after:
            self.latest = after["definition"]
        elif isinstance(before, Mapping) and isinstance(after, Mapping):
            return {"definition": self.latest, **before}, {"definition": self.latest, **after}
        return before, after


def _without_definition(recorded: Mapping[str, Json]) -> Json:
    return {name: value for name, value in recorded.items() if name != "definition"}
