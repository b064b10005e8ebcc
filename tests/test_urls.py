from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tocsin.domain.errors import InvalidInput
from tocsin.settings import explain
from tocsin.urls import is_readable, masked

PLACES = [
    "postgresql://tocsin:{}@h/x",
    "postgresql://tocsin:{}@h:5432,other:5433/x?sslmode=require",
    "postgresql://u@h/x?password={}",
    "postgresql://u@h/x?password={}&sslmode=require",
    "postgresql://u@h/x?unknown={}",
    "redis://:{}@h:6379/0",
    "redis://h?password={}",
    "redis+sentinel://u:p@h,i/main?sentinel_password={}",
    "unix:///run/redis?password={}",
]


@pytest.mark.parametrize("place", PLACES)
@given(secret=st.text("QXZ/?#@:[];&=% \n\\", min_size=1))
def test_nothing_of_a_password_is_shown_however_it_is_written(place: str, secret: str) -> None:
    assert not set(masked(place.format(secret))) & set("QXZ")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///tocsin.db", "sqlite:///tocsin.db"),
        ("memory://", "memory://"),
        ("postgresql://tocsin@db_1:5432/x?sslmode=require", "postgresql://tocsin@db_1:5432/x?sslmode=require"),
        ("postgresql://tocsin:QX@[::1]:5432/x", "postgresql://tocsin:***@[::1]:5432/x"),
        ("postgres://u@h/x?password=QX&application_name=a", "postgres://u@h/x?password=***&application_name=a"),
        ("postgresql://h/x?sslmode=a;password=QX", "postgresql://h/x?sslmode=***"),
        ("redis://QX@h", "redis://***@h"),
        ("redis+sentinel://u:QX@h:1,i:2/main?db=1", "redis+sentinel://u:***@h:1,i:2/main?db=1"),
        ("unix:///run/redis.sock?db=0", "unix:///run/redis.sock?db=0"),
        ("postgresql://tocsin:s3c/ret#PG@h/x", "postgresql://***"),
        ("postgresql://tocsin:s]c[h@h/x", "postgresql://***"),
        ("hunter2", "***"),
    ],
)
def test_all_that_cannot_be_a_password_is_shown(url: str, shown: str) -> None:
    assert masked(url) == shown


@pytest.mark.parametrize(
    ("url", "readable"),
    [
        ("postgresql:///x?host=/run/postgresql", True),
        ("postgresql://u:p%40ss%2Fword@%2Frun%2Fpostgresql/x", True),
        ("postgresql://u:p w=&;$!@h", True),
        ("redis://h", True),
        ("postgresql://u:12/ret@h/x", False),
        ("postgresql://u:a@b@h/x", False),
        ("postgresql://u@h/x?sslmode", False),
        ("postgresql://u@,h/x", False),
        ("postgresql://u@h:port/x", False),
    ],
)
def test_a_url_that_can_be_read_in_two_ways_cannot_be_read(url: str, readable: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_readable(url) is readable


def test_the_list_of_settings_tells_no_password() -> None:
    environment = {
        "TOCSIN_DATABASE_URL": "postgresql://u@h/x?password=hunter2",
        "TOCSIN_REDIS_URL": "redis://h?password=hunter2",
    }

    shown = {row.name: row.value for row in explain({}, environment=environment)}

    assert shown["TOCSIN_DATABASE_URL"] == "postgresql://u@h/x?password=***"
    assert shown["TOCSIN_REDIS_URL"] == "redis://h?password=***"


@pytest.mark.parametrize("url", ["postgresql://tocsin:wr0/ng@h/x", "postgresql://tocsin:wr0]ng[@h/x"])
async def test_a_url_that_cannot_be_read_is_refused_without_any_part_of_it(url: str) -> None:
    with pytest.raises(InvalidInput, match="database_url: cannot be read; percent-encode") as refusal:
        async with tocsin.open_scheduler(url):
            pass

    assert "wr0" not in "".join(traceback.format_exception(refusal.value))
