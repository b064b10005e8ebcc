"""
What is declared held against what is there: which things to make, change, keep or prune, as a pure rule.

It knows fields only by their names in documents, so that it holds for jobs and for event handlers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from .errors import FieldError, InvalidInput
from .json import Json
from .ownership import Owner


class Fate(StrEnum):
    """What becomes of one thing; what is left over is no longer declared and goes on, since nobody asked to prune."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    PRUNE = "prune"
    LEFT_OVER = "left_over"
    CONFLICT = "conflict"

    @property
    def words(self) -> str:
        """Say it to people."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """
    One thing as it is declared: the fields that are stated, under their names in its document.

    `handler_name` is part of who a job is, beside its key; event handlers have none. A declaration that `is_whole`
    states every field that is its to state; one that is not leaves what it does not state to people.
    """

    key: str
    fields: Mapping[str, Json]
    handler_name: str | None = None
    is_whole: bool = True

    def owner(self, scope: str) -> Owner:
        """Tell whose mark is to be on what it makes."""
        return Owner(scope=scope, stated=None if self.is_whole else frozenset(self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """
    One thing as it is there, with all of its fields but the mark of its owner.

    A field that it has not, such as `enabled` of a job that has ended, is not held against any declaration.
    """

    id: UUID
    version: int
    key: str | None
    fields: Mapping[str, Json]
    handler_name: str | None = None
    owner: Owner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """
    Under which terms to reconcile.

    `scope` is whose declarations these are, `defaults` what a field has that is stated no more. `prune` ends what an
    earlier declaration of this scope made and none has now; `adopt` takes over what others made under the same key.
    """

    scope: str
    defaults: Mapping[str, Json]
    prune: bool = False
    adopt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field before and after."""

    field: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What becomes of one thing: `owner` is whose mark it bears afterwards."""

    fate: Fate
    key: str
    declaration: Declaration | None = None
    standing: Standing | None = None
    changes: Sequence[FieldChange] = ()
    owner: Owner | None = None

    @property
    def takes_over(self) -> bool:
        """Whether only, or also, the owner becomes another."""
        return self.standing is not None and self.fate is Fate.CHANGE and self.owner != self.standing.owner

    @property
    def does_something(self) -> bool:
        """Whether anything is written."""
        return self.fate in {Fate.CREATE, Fate.CHANGE, Fate.PRUNE}


def reconcile(declared: Iterable[Declaration], standing: Iterable[Standing], terms: Terms) -> Sequence[Step]:
    """
    Say what becomes of each thing that is declared, and of each that this scope declared before, by key.

    Fields that are stated win. Fields that this scope stated before and does not now have their defaults again; those
    that it never stated stay as they are. What others declared is not changed unless it is adopted, and never pruned.
    The order of what comes in does not matter, and once the steps are done there is nothing left to do.

    Raises:
        InvalidInput: a key is declared twice for one handler.
    """
    wanted = sorted(declared, key=_who)
    _refuse_twins(wanted)
    present = sorted(standing, key=_who)
    pairs = _paired(wanted, present, terms)
    matched = {each.id for each in pairs.values()}
    steps = [_step(each, pairs.get(_who(each)), terms) for each in wanted]
    return [*steps, *(_gone(each, terms) for each in present if _is_gone(each, matched, terms))]


def prunes_everything(steps: Iterable[Step], scope: str) -> bool:
    """Tell whether nothing would be left of all that this scope declared before."""
    every = list(steps)
    kept = [each for each in every if each.standing and each.fate is not Fate.PRUNE and _scope(each.standing) == scope]
    return not kept and any(each.fate is Fate.PRUNE for each in every)


_Who: TypeAlias = tuple[str, str]


def _who(thing: Declaration | Standing) -> _Who:
    return thing.key or "", thing.handler_name or ""


def _scope(standing: Standing) -> str | None:
    return None if standing.owner is None else standing.owner.scope


def _refuse_twins(wanted: Sequence[Declaration]) -> None:
    twice = sorted(who for who, count in Counter(map(_who, wanted)).items() if count > 1)
    if twice:
        raise InvalidInput(FieldError("key", f"{key!r} is declared twice") for key, _ in twice)


def _paired(wanted: Sequence[Declaration], present: Sequence[Standing], terms: Terms) -> dict[_Who, Standing]:
    """Find what each declaration stands for: what has its key and its handler, else what has changed its handler."""
    there = {_who(each): each for each in present if each.key is not None}
    pairs = {_who(each): there[_who(each)] for each in wanted if _who(each) in there}
    taken = {each.id for each in pairs.values()}
    moved = [each for each in present if each.id not in taken and _scope(each) == terms.scope]
    for key, [declaration] in _alone(each for each in wanted if _who(each) not in pairs):
        candidates = [each for each in moved if each.key == key]
        if len(candidates) == 1:
            pairs[_who(declaration)] = candidates[0]
    return pairs


def _alone(declared: Iterable[Declaration]) -> Iterator[tuple[str, list[Declaration]]]:
    by_key: dict[str, list[Declaration]] = {}
    for each in declared:
        by_key.setdefault(each.key, []).append(each)
    return ((key, those) for key, those in by_key.items() if len(those) == 1)


def _step(declaration: Declaration, standing: Standing | None, terms: Terms) -> Step:
    owner = declaration.owner(terms.scope)
    if standing is None:
        return Step(fate=Fate.CREATE, key=declaration.key, declaration=declaration, owner=owner)
    is_own = _scope(standing) == terms.scope
    changes = _changes(declaration, standing, terms)
    owner_after = owner if is_own or terms.adopt else standing.owner
    if not changes and owner_after == standing.owner:
        fate = Fate.KEEP
    elif standing.owner is None or is_own or terms.adopt:
        fate = Fate.CHANGE
    else:
        fate = Fate.CONFLICT
    return Step(
        fate=fate,
        key=declaration.key,
        declaration=declaration,
        standing=standing,
        changes=changes,
        owner=owner_after,
    )


def _changes(declaration: Declaration, standing: Standing, terms: Terms) -> Sequence[FieldChange]:
    wanted = {**_stated_no_more(declaration, standing, terms), **declaration.fields}
    return [
        FieldChange(field=name, before=before, after=wanted[name])
        for name, before in standing.fields.items()
        if name in wanted and not is_same(before, wanted[name])
    ]


def _stated_no_more(declaration: Declaration, standing: Standing, terms: Terms) -> Mapping[str, Json]:
    owner = standing.owner
    if owner is None or owner.scope != terms.scope or owner.stated is None:
        return {}
    dropped = owner.stated - declaration.fields.keys()
    return {name: terms.defaults[name] for name in dropped if name in terms.defaults}


def _is_gone(standing: Standing, matched: set[UUID], terms: Terms) -> bool:
    return standing.id not in matched and _scope(standing) == terms.scope


def _gone(standing: Standing, terms: Terms) -> Step:
    fate = Fate.PRUNE if terms.prune else Fate.LEFT_OVER
    return Step(fate=fate, key=standing.key or "", standing=standing, owner=standing.owner)


def is_same(one: Json, other: Json) -> bool:
    """Tell whether two documents say the same: 1 and 1.0 do, 1 and true do not, nor do names in another case."""
    match one, other:
        case Mapping(), Mapping():
            return one.keys() == other.keys() and all(is_same(value, other[name]) for name, value in one.items())
        case (str(), _) | (_, str()) | (bool(), _) | (_, bool()):
            return type(one) is type(other) and one == other
        case Sequence(), Sequence():
            return len(one) == len(other) and all(map(is_same, one, other))
        case _:
            return one == other
