from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at
from tests.makers import START, a_definition, a_job, occurrences_of
from tocsin.domain.errors import InvalidSchedule
from tocsin.domain.job import JobType, ScheduledJob
from tocsin.domain.schedule import Cron, Interval, Once
from tocsin.domain.timing import read_schedule, schedule_of, timing_of, type_of

KINDS = {"*/5 * * * *": JobType.CRON, "every 15m": JobType.INTERVAL, "2026-03-29T01:00:00Z": JobType.ONE_TIME}


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("0 2 * * *", Cron("0 0 2 * * *")),
        ("PT6H", Interval(timedelta(hours=6))),
        ("2026-03-29T03:00:00+02:00", Once(datetime(2026, 3, 29, 1, tzinfo=UTC))),
        ("2026-03-29 01:00:00Z", Once(datetime(2026, 3, 29, 1, tzinfo=UTC))),
    ],
)
def test_the_text_says_what_kind_of_schedule_it_is(text: str, schedule: object) -> None:
    assert read_schedule(text) == schedule


@pytest.mark.parametrize("text", ["2026-03-29T01:00:00", "2026-03-29", "20260329"])
def test_an_instant_without_an_offset_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        read_schedule(text)

    assert [error.field for error in refused.value.errors] == ["schedule"]
    assert "UTC offset" in refused.value.message


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-12-31T23:59:59Z"])
def test_an_instant_outside_the_years_that_are_kept_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchedule, match="1970 to 2199"):
        read_schedule(text)


@given(
    st.one_of(
        st.text(max_size=300),
        st.text(st.characters(categories=None, codec=None)),
        st.text("0123456789TZ:+-. W*@/,everyPTHMSd٣²", max_size=40),
        st.datetimes(timezones=st.timezones()).map(str),
    )
)
def test_any_text_is_read_or_refused_on_its_field(text: str) -> None:
    try:
        read_schedule(text)
    except InvalidSchedule as refused:
        fields = {error.field for error in refused.errors}
    else:
        fields = set()

    assert fields <= {"schedule", "execute_at"}


@pytest.mark.parametrize("text", KINDS)
@pytest.mark.parametrize("kind", [kind for kind in JobType if kind is not JobType.EVENT])
def test_a_schedule_must_be_of_the_kind_that_the_type_says(text: str, kind: JobType) -> None:
    definition = a_definition(type=kind, schedule=text)
    fits = KINDS[text] is kind or (kind is JobType.RECURRING and KINDS[text] is not JobType.ONE_TIME)

    if fits:
        assert type_of(schedule_of(definition) or Cron("* * * * * *")) is KINDS[text]
    else:
        with pytest.raises(InvalidSchedule, match=f"no schedule for type {kind.value}"):
            schedule_of(definition)


def test_an_event_job_has_no_schedule_and_no_nominal_times() -> None:
    job = a_job(type=JobType.EVENT, schedule=None)

    assert schedule_of(job.definition) is None
    with pytest.raises(InvalidSchedule):
        occurrences_of(job)


def test_a_zone_that_does_not_exist_is_refused_on_its_field() -> None:
    with pytest.raises(InvalidSchedule) as refused:
        occurrences_of(a_job(timezone="Europe/Bonn", next_run=None))

    assert [error.field for error in refused.value.errors] == ["timezone"]


def test_an_interval_counts_from_start_date_which_fires_itself() -> None:
    source = occurrences_of(a_job(schedule="every 1h", start_date=at(90)))

    assert [getattr(source.after(at(seconds)), "at", None) for seconds in (0, 90)] == [at(90), at(90 + 3600)]


def test_an_interval_without_one_counts_from_created_at_cut_to_the_second() -> None:
    job = a_job(schedule="every 1h", created_at=at(30.75))

    assert job.next_run == at(30 + 3600)


def test_jobs_share_their_nominal_times_if_nothing_tells_them_apart() -> None:
    def cron(**fields: object) -> ScheduledJob:
        return a_job(type=JobType.CRON, schedule="0 8 * * *", **fields)

    later = START + timedelta(days=1)

    assert timing_of(cron()) == timing_of(cron(created_at=later, name="another"))
    assert timing_of(cron()) != timing_of(cron(timezone="Europe/Berlin"))
    assert timing_of(a_job()) == timing_of(a_job(name="another"))
    assert timing_of(a_job()) != timing_of(a_job(created_at=later))
    assert timing_of(a_job()) != timing_of(a_job(start_date=later))


@given(st.lists(st.integers(0, 5_000_000), max_size=60))
def test_asking_again_and_again_gives_the_same_nominal_times(offsets: list[int]) -> None:
    cron = a_job(type=JobType.CRON, schedule="*/7 3 * * *", timezone="Europe/Berlin")
    asked = occurrences_of(cron)

    for seconds in [*offsets, *offsets[:20]]:
        instant = START + timedelta(seconds=seconds)
        assert asked.after(instant) == occurrences_of(cron).after(instant)
