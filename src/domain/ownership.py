"""Who declared a job: a mark in its metadata, and a tag by which marked jobs are found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .definition import TAG_LENGTH
from .errors import InvalidJob
from .json import Json

MARK: Final = "declared"
"""The name of the mark among a job's metadata; nobody declares it."""

TAGS: Final = f"{MARK}:"
"""How the tags begin by which the jobs of a scope are found; nobody declares one."""

DEFAULT_SCOPE: Final = "default"
CODE: Final = "code:"
"""How the scopes of modules begin; those of files have no colon."""

_SCOPE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """
    Whose declaration made a job.

    `scope` names the files, or the module, that it stands in. `stated` are the fields that it named, where it leaves
    all others to people; None if it has a word for every field.
    """

    scope: str
    stated: frozenset[str] | None = None


def file_scope(name: str) -> str:
    """
    Take the name of a set of files for a scope.

    Raises:
        InvalidJob: on field `scope`, if it is no such name.
    """
    if not isinstance(name, str) or not _SCOPE.fullmatch(name):
        raise InvalidJob.of("scope", "must have 1 to 100 letters, digits and ._/-, the first a letter or a digit")
    return name


def code_scope(module: str) -> str:
    """Name the scope of what a module of code declares."""
    return f"{CODE}{module}"


def scope_tag(scope: str) -> str:
    """Give the tag that every job of a scope has; scopes that are long and begin alike share one."""
    return f"{TAGS}{scope}"[:TAG_LENGTH]


def owner_of(fields: Mapping[str, Json]) -> Owner | None:
    """Read who declared a job from its fields; None if a person, or a program by the API, made it."""
    match fields.get("metadata"):
        case {"declared": {"scope": str(scope), "fields": [*stated]}}:
            return Owner(scope=scope, stated=frozenset(str(each) for each in stated))
        case {"declared": {"scope": str(scope)}}:
            return Owner(scope=scope)
        case _:
            return None


def bare(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Give the fields of a job without the mark, as they were declared."""
    return {**fields, "metadata": _unmarked(fields.get("metadata")), "tags": _untagged(fields.get("tags"))}


def marked(fields: Mapping[str, Json], owner: Owner | None) -> dict[str, Json]:
    """Give the fields of a job with the mark of its owner; without one, with none."""
    plain = bare(fields)
    if owner is None:
        return plain
    mark: dict[str, Json] = {"scope": owner.scope}
    if owner.stated is not None:
        mark["fields"] = sorted(owner.stated)
    plain["metadata"] = {**_unmarked(fields.get("metadata")), MARK: mark}
    plain["tags"] = [*_untagged(fields.get("tags")), scope_tag(owner.scope)]
    return plain


def _unmarked(metadata: Json) -> dict[str, Json]:
    known = metadata if isinstance(metadata, Mapping) else {}
    return {name: value for name, value in known.items() if name != MARK}


def _untagged(tags: Json) -> list[Json]:
    known = tags if isinstance(tags, Sequence) and not isinstance(tags, str) else ()
    return [tag for tag in known if not str(tag).startswith(TAGS)]
