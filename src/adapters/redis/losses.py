"""What the streams no longer carry."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from ...domain.bands import band_of
from ...ports.dispatcher import Dispatch, Sent
from .connection import Connection
from .entries import execution_ids, read_position
from .keys import GROUP, Keys, Stream, keys_of
from .passage import Horizon, Passage

MOST_PENDING: Final = 2_000
LONGEST_TAIL: Final = 1_000
STREAMS_AT_ONCE: Final = 16

_Standing: TypeAlias = tuple[bytes, bytes, Sequence[Sequence[bytes]], int]


class Losses:
    """
    Judges what was dispatched a grace ago and is still unclaimed, at a cost that no backlog raises.

    - Pending is carried: its receiver claims it, or it is handed to another one. Of very much of it the first part is
      looked at, and nothing beyond that counts as lost.
    - Of a short queue every entry is read, so what is not there is lost.
    - A long queue is not read. What it may hold is lost only once the group is past everything that was dispatched
      by then (`Passage`): a backlog is no loss, and a loss behind one is found when that backlog has been handed out,
      which is when it would have been received itself. That moment comes as long as anybody receives.

    A dispatch counts as lost too soon when it reached Redis long after the time that the store wrote for it, when the
    store's clock was set back, or when its job's priority was edited since, so that it lies in another band. It is
    then sent twice and claimed once.
    """

    def __init__(self, connection: Connection, keys: Keys, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._keys = keys
        self._horizon = Horizon(monotonic)
        self._passages: defaultdict[str, Passage] = defaultdict(Passage)

    async def among(self, candidates: Sequence[Sent]) -> Sequence[Dispatch]:
        """
        Pick those that are lost, in their order.

        Raises:
            DispatcherUnavailable: Redis did not answer.
        """
        if not candidates:
            return []
        reached = self._horizon.reached(max(at for _, at in candidates))
        streams = list({self._stream(dispatch): None for dispatch, _ in candidates})
        judges: dict[Stream, Callable[[UUID, datetime], bool]] = {}
        for first in range(0, len(streams), STREAMS_AT_ONCE):
            some = streams[first : first + STREAMS_AT_ONCE]
            standings = await self._connection.script("standing", keys_of(some), GROUP, MOST_PENDING, LONGEST_TAIL)
            for stream, standing in zip(some, standings, strict=True):
                judges[stream] = self._judge(stream, standing, reached)
        return [dispatch for dispatch, at in candidates if judges[self._stream(dispatch)](dispatch.execution_id, at)]

    def _stream(self, dispatch: Dispatch) -> Stream:
        return self._keys.stream(band_of(dispatch.priority), dispatch.capability)

    def _judge(self, stream: Stream, standing: _Standing, reached: datetime) -> Callable[[UUID, datetime], bool]:
        generated, delivered, carried, complete = standing
        passed = self._passages[stream.key].passed(
            generated=read_position(generated), delivered=read_position(delivered), reached=reached
        )
        ids = execution_ids(carried)

        def is_lost(execution_id: UUID, at: datetime) -> bool:
            if str(execution_id).encode() in ids:
                return False
            return bool(complete) or (passed is not None and at <= passed)

        return is_lost
