from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from tests.makers import START, a_job, executions_in_every_state
from tocsin.domain.altered import altered
from tocsin.domain.counters import JobCounters
from tocsin.domain.execution import JobExecution
from tocsin.domain.job import ScheduledJob
from tocsin.domain.swift import placed, swift

JOB = a_job()
_NEEDED: dict[str, Any] = {
    "id": JOB.id,
    "job_id": JOB.id,
    "job_version": 1,
    "tenant_id": "t",
    "status": "pending",
    "origin": "manual",
    "scheduled_at": START,
    "created_at": START,
}
VALUES = [JOB, JobCounters(live=2), *executions_in_every_state(JOB)]


def fields_of(value: Any) -> dict[str, Any]:  # noqa: ANN401 - a value of any kind
    return {name: getattr(value, name) for name in value.__slots__}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_made_fast_is_the_very_value_and_as_frozen(value: Any) -> None:  # noqa: ANN401 - of any kind
    made = swift(type(value))(**fields_of(value))

    assert type(made) is type(value)
    assert (made, repr(made)) == (value, repr(value))
    assert pickle.loads(pickle.dumps(made)) == value  # noqa: S301 - our own
    with pytest.raises(FrozenInstanceError):
        setattr(made, value.__slots__[0], None)


def test_what_is_not_said_is_as_the_value_has_it_and_shared_with_none() -> None:
    first, second = [swift(JobExecution)(**_NEEDED) for _ in range(2)]

    assert first == JobExecution(**_NEEDED)
    assert first.metadata is not second.metadata


def test_what_is_missing_or_unknown_is_refused() -> None:
    nothing: dict[str, Any] = {}
    colour: dict[str, Any] = {"colour": "grey"}

    with pytest.raises(TypeError, match="missing"):
        swift(ScheduledJob)(**nothing)
    with pytest.raises(TypeError, match="colour"):
        swift(JobCounters)(**colour)


def test_what_is_made_by_place_is_the_very_value_and_as_frozen() -> None:
    values = [JOB.created_at, JOB.id, JOB.definition, JOB.created_at]

    made = placed(ScheduledJob, "updated_at", "id", "definition", "created_at")(*values)

    assert type(made) is ScheduledJob
    assert made == ScheduledJob(
        id=JOB.id, definition=JOB.definition, created_at=JOB.created_at, updated_at=JOB.created_at
    )
    with pytest.raises(FrozenInstanceError):
        setattr(made, "version", 2)  # noqa: B010 - as an assignment mypy would refuse it too


def test_what_has_no_place_is_at_its_default_and_shared_with_none() -> None:
    first, second = [placed(JobExecution, *_NEEDED)(*_NEEDED.values()) for _ in range(2)]

    assert first == JobExecution(**_NEEDED)
    assert first.metadata is not second.metadata


def test_a_place_for_every_field_without_a_default_and_for_no_other_name() -> None:
    with pytest.raises(TypeError, match="missing definition, created_at, updated_at"):
        placed(ScheduledJob, "id")
    with pytest.raises(TypeError, match="colour"):
        placed(JobCounters, "colour")


@pytest.mark.parametrize("value", [JOB, JobCounters()], ids=["job", "counters"])
def test_altered_is_what_replace_gives(value: Any) -> None:  # noqa: ANN401 - of any kind
    name = value.__slots__[-1]

    assert altered(value, **{name: None}) == replace(value, **{name: None})
