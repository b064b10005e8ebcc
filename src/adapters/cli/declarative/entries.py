"""From the documents of files to what they declare: everything is checked that needs no server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....domain.errors import FieldError, InvalidInput
from ....domain.json import Json
from ....domain.ownership import DEFAULT_SCOPE, file_scope
from ....domain.reconciliation import Declaration
from .event_handlers import read_event_handler
from .jobs import CheckTiming, read_job
from .places import Path, Source

JOBS = "jobs"
EVENT_HANDLERS = "event_handlers"
_KNOWN = ("scope", JOBS, EVENT_HANDLERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One declaration, and where it stands."""

    declaration: Declaration
    source: Source
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """All that several files declare together."""

    scope: str
    jobs: Sequence[Entry]
    event_handlers: Sequence[Entry]


def read_wishes(sources: Sequence[Source], *, scope: str | None, check: CheckTiming) -> Wishes:
    """
    Read what the files declare; `check` refuses a timing that cannot be computed.

    Raises:
        InvalidInput: names every fault with its file, its line and its field.
    """
    faults: list[FieldError] = [fault for source in sources for fault in _faults_of_top(source)]
    if faults:
        raise InvalidInput(faults)
    jobs = _entries(sources, JOBS, lambda document: read_job(document, check), faults)
    handlers = _entries(sources, EVENT_HANDLERS, read_event_handler, faults)
    faults.extend([*_twins(jobs), *_twins(handlers)])
    if faults:
        raise InvalidInput(faults)
    return Wishes(scope=_scope(sources, scope), jobs=jobs, event_handlers=handlers)


def _faults_of_top(source: Source) -> Iterator[FieldError]:
    if source.document is None:
        return
    if not isinstance(source.document, Mapping):
        yield source.fault((), f"must be a mapping with {JOBS} and {EVENT_HANDLERS}")
        return
    for name, value in source.document.items():
        if name not in _KNOWN:
            yield source.fault((name,), f"is not a known field; expected one of {', '.join(_KNOWN)}")
        elif name != "scope" and value is not None and not _is_list(value):
            yield source.fault((name,), "must be a list")


def _entries(
    sources: Sequence[Source], section: str, read: Callable[[Mapping[str, Json]], Declaration], faults: list[FieldError]
) -> list[Entry]:
    found = []
    for source in sources:
        for position, document in enumerate(_listed(source, section)):
            path = (section, position)
            try:
                if not isinstance(document, Mapping):
                    raise InvalidInput.of("", "must be a mapping of fields")
                found.append(Entry(declaration=read(document), source=source, path=path))
            except InvalidInput as error:
                faults.extend(source.fault((*path, *_parts(each.field)), each.message) for each in error.errors)
    return found


def _parts(field: str) -> Path:
    return tuple(int(part) if part.isdecimal() else part for part in field.split(".") if part)


def _twins(entries: Sequence[Entry]) -> Iterator[FieldError]:
    seen: dict[tuple[str, str | None], Entry] = {}
    for entry in entries:
        who = entry.declaration.key, entry.declaration.handler_name
        first = seen.setdefault(who, entry)
        if first is not entry:
            there = f"{first.source.name}:{first.source.line(first.path)}"
            yield entry.source.fault((*entry.path, "key"), f"{who[0]!r} is declared already, at {there}")


def _scope(sources: Sequence[Source], wanted: str | None) -> str:
    """Settle whose declarations these are: all files, and the option, must name the same scope, or none."""
    named = {} if wanted is None else {wanted: "the option --scope"}
    for source in sources:
        scope = source.document.get("scope") if isinstance(source.document, Mapping) else None
        if scope is None:
            continue
        if not isinstance(scope, str):
            raise InvalidInput([source.fault(("scope",), "must be a text")])
        if named.setdefault(scope, source.name) and len(named) > 1:
            others = ", ".join(f"{each!r} ({where})" for each, where in named.items() if each != scope)
            raise InvalidInput([source.fault(("scope",), f"is {scope!r}, but what goes with it is {others}")])
    return file_scope(next(iter(named), DEFAULT_SCOPE))


def _listed(source: Source, section: str) -> Sequence[Json]:
    document = source.document
    value = document.get(section) if isinstance(document, Mapping) else None
    return value if _is_list(value) and isinstance(value, Sequence) else ()


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
