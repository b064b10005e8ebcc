"""Trying a filter out, over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import ClassVar

from pydantic import Field

from ....domain.errors import InvalidEventHandler, InvalidInput
from ....domain.json import Json
from ....ports.event_requests import FilterTrial
from .events import EventIn
from .fields import AnyJson, Text
from .model import Input, Output


class FilterTrialIn(Input):
    """A pattern and a filter, and an event that stands for what may come; it is not published."""

    refusal: ClassVar[type[InvalidInput]] = InvalidEventHandler
    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
        {
            "order": {
                "event": "order.*",
                "filter": "event.data.total > 100",
                "sample": {"name": "order.created", "data": {"id": 7, "total": 150}},
            }
        }
    )

    event: Text | None = Field(default=None, description="A pattern, as of a handler. Default: any name matches.")
    filter: Text | None = Field(default=None, description="CEL over `event`. Default: every event passes.")
    sample: EventIn


class FilterTrialOut(Output):
    """
    Whether an event handler with this pattern and filter would act upon the sample.

    `result` is what the filter comes to; `error` says why it comes to nothing, or to neither true nor false.
    """

    matches: bool
    name_matches: bool
    result: AnyJson
    error: str | None

    @classmethod
    def of(cls, trial: FilterTrial) -> FilterTrialOut:
        """Show what a trial came to."""
        return cls.model_validate(trial)

    def value(self) -> FilterTrial:
        """Read what a trial came to as it was shown."""
        return FilterTrial(**{field.name: getattr(self, field.name) for field in fields(FilterTrial)})
