"""Replays over the wire."""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar
from uuid import UUID

from pydantic import Field

from ....domain.errors import InvalidInput
from ....ports.event_requests import Replay
from .fields import Flag, Instant
from .model import Input, Output


class ReplayIn(Input):
    """Which past events to show to an event handler; a dry run only tells what would come of it."""

    refusal: ClassVar[type[InvalidInput]] = InvalidInput

    since: Instant
    until: Instant | None = Field(default=None, description="Default: now.")
    dry_run: Flag = True


class ReplayOut(Output):
    """What came of showing past events to an event handler, or would come of it."""

    handler_id: UUID
    is_dry_run: bool
    seen: int
    acted: int
    filtered: int
    refused: int
    known: int
    event_ids: tuple[UUID, ...]
    reasons: dict[str, int]

    @classmethod
    def of(cls, replay: Replay) -> ReplayOut:
        """Show a replay."""
        return cls.model_validate(replay)

    def value(self) -> Replay:
        """Read a replay as it was shown."""
        return Replay(**{field.name: getattr(self, field.name) for field in fields(Replay)})
