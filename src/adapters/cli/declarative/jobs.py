"""One job of a file: from its fields, as the HTTP API names them, to its declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from ....domain.definition import document, validate
from ....domain.errors import FieldError, InvalidJob
from ....domain.job import JobDefinition, JobType
from ....domain.json import Json
from ....domain.ownership import MARK, TAGS
from ....domain.reconciliation import Declaration
from ....domain.timing import read_schedule
from ....domain.zones import load_zone
from ..job_documents import ENABLED, definition_in, field_faults

CheckTiming: TypeAlias = Callable[[JobDefinition], None]
"""Raises InvalidSchedule if the fires of a job cannot be computed."""


def read_job(given: Mapping[str, Json], check: CheckTiming) -> Declaration:
    """
    Read a job; what it does not state has its default, but for `enabled`, which stays as it is.

    Raises:
        InvalidInput: names each field that is missing, unknown or out of bounds.
    """
    if faults := [*key_faults(given), *field_faults(given), *_own_faults(given)]:
        raise InvalidJob(faults)
    definition = validate(_in_one_form(definition_in({"name": given["key"], **given})))
    if definition.type is JobType.EVENT:
        load_zone(definition.timezone)
    elif definition.type is not JobType.ONE_TIME:
        check(definition)
    fields = {name: value for name, value in document(definition).items() if name != "key"}
    stated = {ENABLED: given[ENABLED]} if ENABLED in given else {}
    return Declaration(key=str(given["key"]), handler_name=definition.handler_name, fields={**fields, **stated})


def key_faults(given: Mapping[str, Json]) -> Iterator[FieldError]:
    """Refuse a declaration that nobody could tell from another."""
    key = given.get("key")
    if key is None:
        yield FieldError("key", "is required: by it the same one is found again")
    elif not isinstance(key, str):
        yield FieldError("key", "must be a text; put it in quotes")


def _own_faults(given: Mapping[str, Json]) -> Iterator[FieldError]:
    """Refuse what Tocsin itself keeps in a job that was declared."""
    metadata, tags = given.get("metadata"), given.get("tags")
    if isinstance(metadata, Mapping) and MARK in metadata:
        yield FieldError(f"metadata.{MARK}", "is Tocsin's own; give the scope at the top of the file")
    if isinstance(tags, list | tuple) and any(str(tag).startswith(TAGS) for tag in tags):
        yield FieldError("tags", f"those that begin with {TAGS} are Tocsin's own")


def _in_one_form(definition: JobDefinition) -> JobDefinition:
    """Write an instant in one form, however the file has it, so that it is the same again."""
    if definition.type != JobType.ONE_TIME or definition.schedule is None:
        return definition
    return replace(definition, schedule=str(read_schedule(definition.schedule)))
