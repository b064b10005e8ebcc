from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.samples import at
from tests.makers import a_definition
from tocsin.domain.definition import (
    FIELD_NAMES,
    INTEGER_BOUNDS,
    TAGS_LIMIT,
    TEXT_BOUNDS,
    document,
    from_document,
    validate,
)
from tocsin.domain.errors import InvalidJob
from tocsin.domain.job import Backoff, HandlerType, JobDefinition, JobType, MisfirePolicy, OverlapPolicy
from tocsin.domain.json import PAYLOAD_LIMIT

INTEGERS = {
    "max_executions": (1, 1_000_000_000),
    "priority": (0, 100),
    "concurrency": (1, 1000),
    "misfire_grace_seconds": (0, 86_400),
    "catchup_window_seconds": (0, 31_536_000),
    "max_catchup": (1, 500),
    "max_retries": (0, 100),
    "retry_delay_ms": (0, 3_600_000),
    "timeout_ms": (1000, 604_800_000),
    "lock_timeout_seconds": (30, 7200),
}
TEXTS = {
    "name": (1, 255),
    "key": (1, 128),
    "handler_name": (1, 255),
    "description": (0, 4096),
    "schedule": (1, 255),
    "timezone": (1, 64),
}
HIDDEN = ("\0", "\ud800", "\udfff")


def offending(definition: JobDefinition) -> list[str]:
    """The fields that a refusal names; none if the definition is taken."""
    try:
        validate(definition)
    except InvalidJob as refused:
        return [error.field for error in refused.errors]
    return []


def test_the_tables_here_and_there_agree() -> None:
    assert (dict(INTEGER_BOUNDS), dict(TEXT_BOUNDS)) == (INTEGERS, TEXTS)


def test_what_nobody_says_has_the_defaults_of_the_design() -> None:
    definition = JobDefinition(name="a", type=JobType.EVENT, handler_name="a")

    assert document(definition) == {
        "name": "a",
        "type": "event",
        "handler_name": "a",
        "schedule": None,
        "handler_type": "function",
        "key": None,
        "description": None,
        "timezone": "UTC",
        "start_date": None,
        "end_date": None,
        "max_executions": None,
        "payload": None,
        "metadata": {},
        "tags": [],
        "priority": 50,
        "concurrency": 1,
        "overlap_policy": "skip",
        "misfire_policy": "run_once",
        "misfire_grace_seconds": 60,
        "catchup_window_seconds": 86_400,
        "max_catchup": 100,
        "max_retries": 3,
        "retry_delay_ms": 60_000,
        "backoff": "exponential",
        "retry_jitter": 0.0,
        "timeout_ms": 300_000,
        "lock_timeout_seconds": 60,
    }


@pytest.mark.parametrize(("field", "bounds"), INTEGERS.items())
def test_a_number_is_held_to_both_edges(field: str, bounds: tuple[int, int]) -> None:
    lowest, highest = bounds

    assert [offending(a_definition(**{field: value})) for value in bounds] == [[], []]
    assert [offending(a_definition(**{field: value})) for value in (lowest - 1, highest + 1)] == [[field], [field]]


@pytest.mark.parametrize("field", INTEGERS)
def test_a_number_is_a_whole_number(field: str) -> None:
    assert [offending(a_definition(**{field: value})) for value in (50.5, "50", float("nan"))] == [[field]] * 3


@pytest.mark.parametrize(("field", "bounds"), TEXTS.items())
def test_a_text_is_held_to_both_edges(field: str, bounds: tuple[int, int]) -> None:
    shortest, longest = bounds

    assert [offending(a_definition(**{field: "é" * length})) for length in bounds] == [[], []]
    assert offending(a_definition(**{field: "é" * (longest + 1)})) == [field]
    assert offending(a_definition(**{field: ""})) == ([field] if shortest else [])


@pytest.mark.parametrize("field", TEXTS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_text_has_no_characters_that_a_store_refuses(field: str, hidden: str) -> None:
    assert offending(a_definition(**{field: f"a{hidden}b"})) == [field]


@pytest.mark.parametrize("field", [name for name in FIELD_NAMES if name != "payload"])
def test_only_what_is_optional_may_be_null(field: str) -> None:
    optional = {"key", "description", "start_date", "end_date", "max_executions"}

    assert offending(a_definition(**{field: None})) == ([] if field in optional else [field])


@pytest.mark.parametrize("field", [*INTEGER_BOUNDS, "retry_jitter"])
def test_a_truth_value_is_no_number(field: str) -> None:
    assert field in offending(a_definition(**{field: True}))


@pytest.mark.parametrize(
    ("jitter", "fields"), [(0, []), (1.0, []), (-0.01, ["retry_jitter"]), (1.01, ["retry_jitter"])]
)
def test_jitter_is_a_share(jitter: float, fields: list[str]) -> None:
    assert offending(a_definition(retry_jitter=jitter)) == fields
    assert offending(a_definition(retry_jitter=float("nan"))) == ["retry_jitter"]


@pytest.mark.parametrize(
    ("tags", "fields"),
    [
        (tuple(map(str, range(TAGS_LIMIT))), []),
        (tuple(map(str, range(TAGS_LIMIT + 1))), ["tags"]),
        (("t" * 64,), []),
        (("t" * 65,), ["tags"]),
        (("",), ["tags"]),
        (("a\0",), ["tags"]),
        ((1,), ["tags"]),
        ("word", ["tags"]),
    ],
)
def test_tags_are_held_to_their_bounds(tags: tuple[str, ...], fields: list[str]) -> None:
    assert offending(a_definition(tags=tags)) == fields


@pytest.mark.parametrize(("field", "wrapping"), [("payload", 2), ("metadata", 8)])
def test_a_document_takes_up_to_256_kib_as_json(field: str, wrapping: int) -> None:
    def of_bytes(size: int) -> object:
        return "x" * (size - wrapping) if field == "payload" else {"k": "x" * (size - wrapping)}

    assert PAYLOAD_LIMIT == 256 * 1024
    assert offending(a_definition(**{field: of_bytes(PAYLOAD_LIMIT)})) == []
    assert offending(a_definition(**{field: of_bytes(PAYLOAD_LIMIT + 1)})) == [field]
    assert offending(a_definition(**{field: {"a": object()}})) == [field]


def test_metadata_is_an_object() -> None:
    assert offending(a_definition(metadata=[1])) == ["metadata"]


@pytest.mark.parametrize("field", ["start_date", "end_date"])
@pytest.mark.parametrize(
    ("instant", "taken"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), True),
        (datetime(2199, 12, 31, 23, 59, 59, tzinfo=UTC), True),
        (datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=14))), False),
        (datetime(2200, 1, 1, tzinfo=UTC), False),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), False),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))), False),
        ("2026-01-01T00:00:00Z", False),
        (datetime(2026, 1, 1), False),  # noqa: DTZ001 - without an offset it names no instant
    ],
)
def test_a_bound_is_an_instant_from_1970_to_2199(field: str, instant: object, taken: object) -> None:
    assert offending(a_definition(**{field: instant})) == ([] if taken else [field])


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"start_date": at(1), "end_date": at(1)}, []),
        ({"start_date": at(1), "end_date": at(0)}, ["end_date"]),
        ({"overlap_policy": OverlapPolicy.ALLOW_ALL}, []),
        ({"overlap_policy": OverlapPolicy.ALLOW_ALL, "concurrency": 2}, ["concurrency"]),
        ({"type": JobType.RECURRING}, ["type"]),
        ({"type": JobType.RECURRING, "end_date": at(1)}, []),
        ({"type": JobType.RECURRING, "max_executions": 1}, []),
        ({"schedule": None}, ["schedule"]),
        ({"type": JobType.EVENT}, ["schedule"]),
        ({"type": JobType.EVENT, "schedule": None}, []),
    ],
)
def test_fields_that_do_not_go_together_are_refused(fields: dict[str, object], errors: list[str]) -> None:
    assert offending(a_definition(**fields)) == errors


def test_every_offending_field_is_named_at_once() -> None:
    assert offending(a_definition(name="", priority=101, tags=("",), schedule=None)) == [
        "priority",
        "name",
        "tags",
        "schedule",
    ]


@pytest.mark.parametrize("field", ["type", "handler_type", "overlap_policy", "misfire_policy", "backoff"])
def test_a_choice_is_one_of_those_offered(field: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        validate(a_definition(**{field: "no_such_thing"}))

    assert [error.field for error in refused.value.errors] == [field]
    assert "must be one of" in refused.value.message


def test_what_is_kept_is_what_the_document_says() -> None:
    kept = validate(
        a_definition(
            type="interval",
            overlap_policy="queue_all",
            start_date=datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
            payload={"when": datetime(2026, 1, 1, tzinfo=UTC), "rates": (1.5, float("nan")), "text": "a\0"},
        )
    )

    assert kept.overlap_policy is OverlapPolicy.QUEUE_ALL
    assert kept.start_date is not None
    assert kept.start_date.tzinfo is UTC
    assert kept.payload == {"when": "2026-01-01T00:00:00+00:00", "rates": [1.5, None], "text": "a\ufffd"}


PLAIN = st.characters(codec="utf-8", exclude_characters="\0")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(PLAIN),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(PLAIN), inner, max_size=4),
    max_leaves=10,
)


@st.composite
def definitions(draw: st.DrawFn) -> JobDefinition:
    """Any definition that is within all bounds."""
    fields: dict[str, Any] = {name: draw(st.integers(*bounds)) for name, bounds in INTEGERS.items()}
    for name, (shortest, longest) in TEXTS.items():
        fields[name] = draw(st.text(PLAIN, min_size=shortest, max_size=min(longest, 20)))
    fields |= {
        "type": draw(st.sampled_from([JobType.CRON, JobType.INTERVAL, JobType.ONE_TIME, JobType.RECURRING])),
        "handler_type": draw(st.sampled_from(HandlerType)),
        "overlap_policy": draw(st.sampled_from([policy for policy in OverlapPolicy if policy != "allow_all"])),
        "misfire_policy": draw(st.sampled_from(MisfirePolicy)),
        "backoff": draw(st.sampled_from(Backoff)),
        "payload": draw(JSON),
        "metadata": draw(st.dictionaries(st.text(PLAIN), JSON, max_size=4)),
        "tags": tuple(draw(st.lists(st.text(PLAIN, min_size=1, max_size=64), max_size=5))),
        "retry_jitter": draw(st.floats(0, 1)),
    }
    start = draw(st.none() | st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - the strategy adds the zone
    end = draw(st.none() | st.datetimes(datetime(2100, 1, 1), datetime(2199, 12, 1), timezones=st.timezones()))  # noqa: DTZ001 - the strategy adds the zone
    optional = {"key": None, "description": None, "max_executions": 1}
    absent = draw(st.sets(st.sampled_from(sorted(optional))))
    return JobDefinition(
        **{**fields, **{name: optional[name] for name in absent}, "start_date": start, "end_date": end}
    )


@given(definitions())
def test_any_definition_survives_its_document_and_json(definition: JobDefinition) -> None:
    assert from_document(json.loads(json.dumps(document(definition)))) == definition
    assert validate(definition) == definition
    assert set(document(definition)) == set(FIELD_NAMES)


@given(
    definitions(),
    st.sets(st.sampled_from([name for name in FIELD_NAMES if name not in {"name", "type", "handler_name"}])),
)
def test_fields_that_a_document_lacks_take_their_defaults_and_strange_ones_are_passed_over(
    definition: JobDefinition, lacking: set[str]
) -> None:
    written = {name: value for name, value in document(definition).items() if name not in lacking}

    read = from_document({**written, "from_the_future": 1})

    defaults = JobDefinition(name="a", type=JobType.EVENT, handler_name="a")
    assert read == replace(definition, **{name: getattr(defaults, name) for name in lacking})
