"""How the client words what it asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from typing import Any

from ...domain.definition import document, validate
from ...domain.errors import InvalidJob
from ...domain.job import JobDefinition, OverlapPolicy
from ...domain.json import Json
from ...ports.queries import AnyFilter
from .wire.fields import written_instant


def named(query: AnyFilter | None) -> Iterator[tuple[str, str]]:
    """List what a filter names; a condition with several values is named once for each."""
    for field in fields(query) if query else ():
        value = getattr(query, field.name)
        if value is None or value == field.default:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            yield field.name, text(each)


def definition_document(definition: JobDefinition) -> dict[str, Json]:
    """
    Write a definition as it stands in a body, which names no concurrency where there is none to name.

    Raises:
        InvalidInput: names each field that breaks a bound.
    """
    kept = validate(definition)
    body = document(kept)
    if kept.overlap_policy is OverlapPolicy.ALLOW_ALL:
        del body["concurrency"]
    return body


def text(value: object) -> str:
    """Write a value as it stands in a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return written_instant(value) if isinstance(value, datetime) else str(value)


def written(name: str, value: Any) -> Json:  # noqa: ANN401 - the values of a definition's fields
    """
    Write the value of a field as it stands in a body.

    Raises:
        InvalidJob: an instant has no UTC offset.
    """
    if not isinstance(value, datetime):
        plain: Json = value
        return plain
    if value.tzinfo is None:
        raise InvalidJob.of(name, "must have a UTC offset")
    return written_instant(value)
