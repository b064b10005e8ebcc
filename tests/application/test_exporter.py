from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from tests.application.rig import Rig
from tocsin.application.relay import EXPORT, Exporter
from tocsin.domain.errors import DispatcherUnavailable
from tocsin.domain.event import Event

HOUR = timedelta(hours=1)


class Told:
    """A stream that keeps what it is told, and may be away (`ports.event_streams.EventExport`)."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.is_away = False

    async def publish(self, events: Sequence[Event]) -> None:
        if self.is_away:
            raise DispatcherUnavailable("no answer")
        self.names += [event.name for event in events]


@pytest.fixture
def told() -> Told:
    return Told()


def an_exporter(rig: Rig, told: Told) -> Exporter:
    return Exporter(outbox=rig.storage.outbox, export=told, clock=rig.clock, telemetry=rig.notes)


async def test_every_fact_goes_out_in_order_though_no_event_handler_listens(rig: Rig, told: Told) -> None:
    exporter = an_exporter(rig, told)
    await exporter.run_once()

    await rig.start(lambda: None)
    await rig.work()
    assert await exporter.run_once() == 0.0
    assert await exporter.run_once() is None

    ran = ["tocsin.execution.created", "tocsin.execution.started", "tocsin.execution.succeeded"]
    assert told.names == ["tocsin.job.created", *ran]


async def test_while_the_stream_is_away_nothing_is_lost_and_another_node_goes_on(rig: Rig, told: Told) -> None:
    exporter = an_exporter(rig, told)
    await exporter.run_once()
    await rig.start(lambda: None)
    told.is_away = True

    with pytest.raises(DispatcherUnavailable):
        await exporter.run_once()
    told.is_away = False
    await an_exporter(rig, told).run_once()

    assert told.names[0] == "tocsin.job.created"


async def test_what_was_removed_before_it_went_out_is_told_of_and_the_rest_goes_out(rig: Rig, told: Told) -> None:
    exporter = an_exporter(rig, told)
    await exporter.run_once()
    await rig.start(lambda: None)
    await exporter.run_once()
    await rig.work()
    rig.clock.advance(7200)
    # A node without an export knows nothing of this one.
    await rig.storage.outbox.trim(keep=HOUR, limit=100, consumers=())
    await rig.start(lambda: None)

    await exporter.run_once()

    assert told.names[-1] == "tocsin.execution.started"
    assert rig.notes.of("outbox.gap")[0]["consumer"] == EXPORT
