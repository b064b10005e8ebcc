"""Changes as they may be shown: a plan is printed into the logs of pipelines, where no secret belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ....domain.json import Json
from ....domain.reconciliation import FieldChange
from ....domain.secrecy import MASK, names_secret

_ANOTHER: Final = f"{MASK} (another)"


def without_secrets(change: FieldChange) -> FieldChange:
    """Hide what stands in fields whose names speak of secrets, however deep, but not that it changes."""
    before, after = _pair(change.field, change.before, change.after)
    return replace(change, before=before, after=after)


def _pair(name: str, before: Json, after: Json) -> tuple[Json, Json]:
    if names_secret(name):
        changed = MASK if before is None or before == after else _ANOTHER
        return None if before is None else MASK, None if after is None else changed
    match before, after:
        case Mapping(), Mapping():
            return _mappings(before, after)
        case (str(), _) | (_, str()):
            return _alone(before), _alone(after)
        case Sequence(), Sequence() if len(before) == len(after):
            pairs = [_pair("", *each) for each in zip(before, after, strict=True)]
            return [one for one, _ in pairs], [other for _, other in pairs]
    return _alone(before), _alone(after)


def _mappings(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[Json, Json]:
    pairs = {name: _pair(name, before.get(name), after.get(name)) for name in (*before, *after)}
    return {name: pairs[name][0] for name in before}, {name: pairs[name][1] for name in after}


def _alone(value: Json) -> Json:
    """Hide secrets of a value that is held against none of its kind."""
    match value:
        case Mapping():
            return {name: _pair(name, None, each)[1] for name, each in value.items()}
        case Sequence() if not isinstance(value, str):
            return [_alone(each) for each in value]
        case _:
            return value
