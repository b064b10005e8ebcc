"""An answer as text for machines: JSON, rows of CSV, or ids."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Final

from ...domain.errors import InvalidInput
from ...domain.json import Json
from .documents import encode, to_json

_LISTS: Final = ("items", "lines", "fires", "days", "jobs")
_IDS: Final = ("id", "event_id", "execution_id", "job_id", "name")


def as_json(value: object) -> str:
    """Write a value as the HTTP API has it."""
    return encode(value)


def as_csv(value: object, columns: list[str]) -> str:
    """
    Write a list as rows, or one record as one; a value in a value is JSON.

    `columns`, if it is empty, is given the names of the columns, which then stand in the first row: so the rows of a
    further answer go below those of the first.
    """
    records = _records(value)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not columns:
        columns.extend(dict.fromkeys(name for record in records for name in record))
        writer.writerow(columns)
    writer.writerows([_cell(record.get(name)) for name in columns] for record in records)
    return text.getvalue().removesuffix("\n") if columns else ""


def as_ids(value: object) -> str:
    """
    Write one id in each line, and nothing for an empty list or a record that has none.

    Raises:
        InvalidInput: what is answered never bears ids.
    """
    ids = [_id(record) for record in _records(value)]
    return "\n".join(str(each) for each in ids if each is not None)


def _records(value: object) -> Sequence[Mapping[str, Json]]:
    """Take the records of a list out of its envelope; what is no list is its own only record."""
    document = to_json(value)
    if isinstance(document, dict):
        inside = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
        document = [document] if inside is None else inside
    if not isinstance(document, list):
        return [{"value": document}]
    return [each if isinstance(each, dict) else {"value": each} for each in document]


def without_ids() -> InvalidInput:
    """Say that a form with nothing but ids does not suit a command."""
    return InvalidInput.of("output", "what this command answers bears no ids; choose json or csv")


def _id(record: Mapping[str, Json]) -> Json:
    names = [name for name in _IDS if name in record]
    if not names:
        raise without_ids()
    return next((record[name] for name in names if record[name] is not None), None)


def _cell(value: Json) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)
