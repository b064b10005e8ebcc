"""Previews over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import Field

from ....domain.errors import InvalidInput, InvalidSchedule
from ....domain.execution import SkipReason
from ....domain.json import Json
from ....ports.reports import Preview, PreviewedFire
from ....ports.scheduler import PREVIEW_BOUNDS, Timing
from .fields import DEFAULTS, Instant, LocalTime, MaxExecutions, ScheduleText, ShownInstant, Timezone
from .model import Input, Output


class PreviewIn(Input):
    """A schedule that is no job yet, and how many of its fires to show, later than when."""

    refusal: ClassVar[type[InvalidInput]] = InvalidSchedule
    examples: ClassVar[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
        {
            "cron": {
                "schedule": "30 2 * * *",
                "timezone": "Europe/Berlin",
                "after": "2026-03-27T00:00:00Z",
                "count": 5,
            },
            "interval": {"schedule": "PT6H", "count": 3},
            "instant": {"schedule": "2100-01-01T00:00:00Z"},
        }
    )

    schedule: ScheduleText
    timezone: Timezone = DEFAULTS["timezone"]
    start_date: Instant | None = None
    end_date: Instant | None = None
    max_executions: MaxExecutions | None = None
    after: Instant | None = Field(default=None, description="Default: now.")
    count: Annotated[int, Field(strict=True, ge=PREVIEW_BOUNDS[0], le=PREVIEW_BOUNDS[1])] = 10

    def timing(self) -> Timing:
        """Give the schedule as the port takes it."""
        return Timing(
            schedule=self.schedule,
            timezone=self.timezone,
            start_date=self.start_date,
            end_date=self.end_date,
            max_executions=self.max_executions,
        )


class PreviewedFireOut(Output):
    """One nominal time to come, in UTC and as its zone's wall clock shows it; `note` says what is shifted and why."""

    scheduled_at: ShownInstant
    local: LocalTime
    note: str | None
    skipped: bool
    skip_reason: SkipReason | None


class PreviewOut(Output):
    """The next fires, earliest first, and the schedule in words."""

    fires: tuple[PreviewedFireOut, ...]
    description: str

    @classmethod
    def of(cls, preview: Preview) -> PreviewOut:
        """Show a preview."""
        return cls.model_validate(preview)

    def value(self) -> Preview:
        """Read a preview as it was shown; `local` has its offset, not its zone."""
        return Preview(
            fires=[
                PreviewedFire(
                    scheduled_at=fire.scheduled_at,
                    local=fire.local,
                    note=fire.note,
                    skipped=fire.skipped,
                    skip_reason=fire.skip_reason,
                )
                for fire in self.fires
            ],
            description=self.description,
        )
