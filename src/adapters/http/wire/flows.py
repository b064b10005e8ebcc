"""Flow control of an event handler over the wire; the bounds are those of `domain.event_definition`."""

from __future__ import annotations

from pydantic import Field

from ....domain.flow import Batch, Debounce, FlowControl, Rate
from .fields import Text
from .model import Input, Output


class RateIn(Input):
    """So many at once, refilled evenly over so many seconds."""

    limit: int = Field(strict=True)
    seconds: int = Field(strict=True)

    def rate(self) -> Rate:
        """Give the rate as the domain knows it."""
        return Rate(limit=self.limit, seconds=self.seconds)


class DebounceIn(Input):
    """Act once it has been quiet for so long, but no later than `max_seconds` after the first event."""

    seconds: int = Field(strict=True)
    max_seconds: int | None = Field(default=None, strict=True)

    def debounce(self) -> Debounce:
        """Give the debounce as the domain knows it."""
        return Debounce(seconds=self.seconds, max_seconds=self.max_seconds)


class BatchIn(Input):
    """Act upon so many events at once, or upon fewer so many seconds after the first."""

    size: int = Field(strict=True)
    seconds: int = Field(strict=True)

    def batch(self) -> Batch:
        """Give the batch as the domain knows it."""
        return Batch(size=self.size, seconds=self.seconds)


class FlowIn(Input):
    """How often and when to act, per `key`: dedupe and rate limit, then one of throttle, debounce and batch."""

    key: Text | None = Field(default=None, description="CEL over `event`. Default: one key for all.")
    dedupe_seconds: int | None = Field(default=None, strict=True)
    rate_limit: RateIn | None = None
    throttle: RateIn | None = None
    debounce: DebounceIn | None = None
    batch: BatchIn | None = None

    def flow(self) -> FlowControl:
        """Give the flow control as the domain knows it."""
        return FlowControl(
            key=self.key,
            dedupe_seconds=self.dedupe_seconds,
            rate_limit=None if self.rate_limit is None else self.rate_limit.rate(),
            throttle=None if self.throttle is None else self.throttle.rate(),
            debounce=None if self.debounce is None else self.debounce.debounce(),
            batch=None if self.batch is None else self.batch.batch(),
        )


class RateOut(Output):
    """So many at once, refilled evenly over so many seconds."""

    limit: int
    seconds: int


class DebounceOut(Output):
    """How long it must have been quiet, and how long it may take."""

    seconds: int
    max_seconds: int | None


class BatchOut(Output):
    """How many at once, and how long to wait for them."""

    size: int
    seconds: int


class FlowOut(Output):
    """How often and when an event handler acts."""

    key: str | None
    dedupe_seconds: int | None
    rate_limit: RateOut | None
    throttle: RateOut | None
    debounce: DebounceOut | None
    batch: BatchOut | None

    def flow(self) -> FlowControl:
        """Read the flow control as it was shown."""
        return FlowIn.model_validate(self.model_dump()).flow()
