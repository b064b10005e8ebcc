"""Jobs in a file, as the HTTP API takes them: an array, or one object in each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from ...domain.definition import validate
from ...domain.errors import FieldError, InvalidInput, InvalidJob
from ...domain.json import Json
from ...domain.strict_json import read_json
from ...ports.batches import NewJob
from .inputs import read_text
from .job_documents import ALLOW_UNKNOWN, ENABLED, JOB_FIELDS, definition_in, field_faults

_KNOWN: Final = (*JOB_FIELDS, ALLOW_UNKNOWN)


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
        return cast("Sequence[Json]", _read(text))
    return list(_lines(text))


def _lines(text: str) -> Iterator[Json]:
    # A text in JSON may hold what else ends a line.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _read(line, f"line {number} ")


def _read(text: str, where: str = "") -> Json:
    try:
        return read_json(text.encode())
    except ValueError as error:
        raise InvalidInput.of("file", f"{where}{error}") from None


def _job(given: Json) -> NewJob:
    if not isinstance(given, Mapping):
        raise InvalidInput.of("job", "must be an object")
    faults = [*field_faults(given, _KNOWN), *_without_name(given)]
    if faults:
        raise InvalidJob(faults)
    return NewJob(
        definition=validate(definition_in(given)),
        enabled=bool(given.get(ENABLED, True)),
        allow_unknown_handler=bool(given.get(ALLOW_UNKNOWN, False)),
    )


def _without_name(given: Mapping[str, Json]) -> Iterator[FieldError]:
    if "name" not in given:
        yield FieldError("name", "is required")
