from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.application.rig import Rig
from tests.makers import START, a_job, an_event_job
from tocsin.application.previewing import Previews
from tocsin.domain.errors import InvalidSchedule
from tocsin.domain.job import JobStatus
from tocsin.ports.scheduler import PREVIEW_BOUNDS, Timing


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


async def test_a_fire_in_the_hour_that_does_not_exist_is_shown_after_the_gap_with_a_note(rig: Rig) -> None:
    timing = Timing(schedule="30 2 * * *", timezone="Europe/Berlin")

    preview = Previews(rig.planning).of_timing(timing, after=at("2026-03-27T12:00:00Z"), count=3)

    assert [fire.local.isoformat() for fire in preview.fires] == [
        "2026-03-28T02:30:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert [fire.note is not None for fire in preview.fires] == [False, True, False]
    assert "Europe/Berlin" in preview.description


async def test_a_fire_in_the_hour_that_comes_twice_is_shown_once(rig: Rig) -> None:
    timing = Timing(schedule="30 2 * * *", timezone="Europe/Berlin")

    preview = Previews(rig.planning).of_timing(timing, after=at("2026-10-24T12:00:00Z"), count=2)

    assert [fire.scheduled_at for fire in preview.fires] == [at("2026-10-25T00:30:00Z"), at("2026-10-26T01:30:00Z")]
    assert preview.fires[0].note is not None


async def test_a_preview_is_what_then_happens(rig: Rig) -> None:
    rig.handle("report", lambda: None)
    job = await rig.storage.jobs.add(a_job(schedule="every 7m", overlap_policy="allow_all"))
    foreseen = [fire.scheduled_at for fire in (await rig.scheduler.preview(job.id, count=5)).fires]
    for _ in range(35):
        rig.clock.advance(60)
        await rig.timer.run_once()

    assert [row.scheduled_at for row in await rig.history(job)] == foreseen


async def test_bounds_are_inclusive_and_exact(rig: Rig) -> None:
    previews = Previews(rig.planning)
    bounded = Timing(schedule="0 * * * *", start_date=START + timedelta(hours=3), end_date=START + timedelta(hours=5))
    limited = Timing(schedule="0 * * * *", max_executions=2)

    fires = previews.of_timing(bounded, after=START, count=1000).fires
    assert [fire.scheduled_at.hour for fire in fires] == [3, 4, 5]
    assert len(previews.of_timing(limited, after=START, count=1000).fires) == 2


@pytest.mark.parametrize("count", [PREVIEW_BOUNDS[0], PREVIEW_BOUNDS[1]])
async def test_as_many_fires_as_asked_for(rig: Rig, count: int) -> None:
    preview = Previews(rig.planning).of_timing(Timing(schedule="* * * * * *"), after=START, count=count)

    assert [fire.scheduled_at - START for fire in preview.fires] == [timedelta(seconds=n + 1) for n in range(count)]


@pytest.mark.parametrize(
    ("timing", "asked", "field"),
    [
        ({}, {"count": 0}, "count"),
        ({}, {"count": 1001}, "count"),
        ({}, {"after": datetime(2026, 1, 1)}, "after"),  # noqa: DTZ001 - a naive instant is what is refused
        ({"schedule": "99 * * * *"}, {}, "schedule"),
        ({"schedule": ""}, {}, "schedule"),
        ({"schedule": "2026-01-01T00:00:00"}, {}, "schedule"),
        ({"timezone": "Mars/Olympus"}, {}, "timezone"),
        ({"timezone": "../../etc/passwd"}, {}, "timezone"),
        ({"start_date": datetime(2026, 1, 1)}, {}, "start_date"),  # noqa: DTZ001 - as above
        ({"start_date": START, "end_date": START - timedelta(seconds=1)}, {}, "end_date"),
        ({"max_executions": 0}, {}, "max_executions"),
    ],
)
async def test_what_cannot_be_shown_is_refused_by_field(
    rig: Rig, timing: dict[str, Any], asked: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        Previews(rig.planning).of_timing(
            Timing(**{"schedule": "0 * * * *", **timing}), **{"after": START, "count": 3, **asked}
        )

    assert [error.field for error in refusal.value.errors] == [field]


@pytest.mark.parametrize("schedule", ["0 * * * *", "* * * * *", "every 1h", "2026-01-01T00:00:00Z"])
@pytest.mark.parametrize("after", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)])
async def test_the_ends_of_the_calendar_break_nothing(rig: Rig, schedule: str, after: datetime) -> None:
    timing = Timing(schedule=schedule, timezone="Pacific/Kiritimati")

    Previews(rig.planning).of_timing(timing, after=after, count=3)


async def test_a_job_without_a_timer_has_no_fires_to_show(rig: Rig) -> None:
    job = await rig.storage.jobs.add(an_event_job())

    preview = await rig.scheduler.preview(job.id)

    assert (preview.fires, preview.description) == ([], "when triggered")


async def test_a_paused_job_shows_what_it_would_do(rig: Rig) -> None:
    job = await rig.storage.jobs.add(a_job(schedule="every 1m"))
    paused = await rig.scheduler.pause_job(job.id)
    assert paused.status is JobStatus.PAUSED

    fires = (await rig.scheduler.preview(job.id, count=2)).fires

    assert [fire.scheduled_at - START for fire in fires] == [timedelta(minutes=1), timedelta(minutes=2)]
