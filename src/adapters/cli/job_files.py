"""Jobs in a file, as the HTTP API takes them: an array, or one object in each line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ...domain.definition import FIELD_NAMES, validate
from ...domain.errors import FieldError, InvalidInput, InvalidJob
from ...domain.job import HandlerType, JobDefinition
from ...domain.json import Json
from ...ports.batches import NewJob
from .declarative.jobs import type_of_fields, unknown_fields
from .inputs import read_json, read_text
from .instants import read_instant

_SWITCHES: Final = ("enabled", "allow_unknown_handler")
_KNOWN: Final = (*FIELD_NAMES, *_SWITCHES, "execute_at")
_NAMED_BY_TYPE: Final = frozenset({HandlerType.HTTP, HandlerType.COMMAND})


def read_jobs(file: str) -> Sequence[NewJob]:
    """
    Read all jobs of a file, `-` being stdin.

    Raises:
        InvalidInput: names each field at fault with the place of its job, as `jobs[3].schedule`.
    """
    jobs, errors = [], list[FieldError]()
    for place, given in enumerate(_objects(file)):
        try:
            jobs.append(_job(given))
        except InvalidInput as error:
            errors.extend(FieldError(f"jobs[{place}].{each.field}", each.message) for each in error.errors)
    if errors:
        raise InvalidJob(errors)
    return jobs


def _objects(file: str) -> Sequence[Json]:
    text = read_text(f"@{file}", "file")
    if text.lstrip().startswith("["):
        return cast("Sequence[Json]", read_json(text, "file"))
    return list(_lines(text))


def _lines(text: str) -> Iterator[Json]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InvalidInput.of("file", f"line {number} is no JSON: {error}") from None


def _job(given: Json) -> NewJob:
    if not isinstance(given, Mapping):
        raise InvalidInput.of("job", "must be an object")
    faults = [*unknown_fields(given, _KNOWN), *_missing(given), *_no_switches(given)]
    if faults:
        raise InvalidJob(faults)
    return NewJob(
        definition=validate(_definition(given)),
        enabled=bool(given.get("enabled", True)),
        allow_unknown_handler=bool(given.get("allow_unknown_handler", False)),
    )


def _definition(given: Mapping[str, Json]) -> JobDefinition:
    fields: dict[str, Any] = {name: given[name] for name in FIELD_NAMES if name in given}
    if "execute_at" in given:
        fields["schedule"] = given["execute_at"]
    for name in ("start_date", "end_date"):
        if fields.get(name) is not None:
            fields[name] = read_instant(str(fields[name]), name)
    if isinstance(fields.get("tags"), list):
        fields["tags"] = tuple(fields["tags"])
    fields.setdefault("handler_name", fields.get("handler_type"))
    fields.setdefault("type", type_of_fields(fields))
    return JobDefinition(**fields)


def _missing(given: Mapping[str, Json]) -> Iterator[FieldError]:
    if "name" not in given:
        yield FieldError("name", "is required")
    if "handler_name" not in given and given.get("handler_type") not in _NAMED_BY_TYPE:
        yield FieldError("handler_name", "is required, unless handler_type is http or command")
    if "execute_at" in given and "schedule" in given:
        yield FieldError("execute_at", "cannot go with schedule; name one of the two")


def _no_switches(given: Mapping[str, Json]) -> Iterator[FieldError]:
    for name in _SWITCHES:
        if not isinstance(given.get(name, True), bool):
            yield FieldError(name, "must be true or false")
