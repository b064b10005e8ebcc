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
from tocsin.domain.swift import swift

JOB = a_job()
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
    needed: dict[str, Any] = {"id": JOB.id, "job_id": JOB.id, "job_version": 1, "tenant_id": "t", "status": "pending"}
    needed |= {"origin": "manual", "scheduled_at": START, "created_at": START}
    first, second = [swift(JobExecution)(**needed) for _ in range(2)]

    assert first == JobExecution(**needed)
    assert first.metadata is not second.metadata


def test_what_is_missing_or_unknown_is_refused() -> None:
    nothing: dict[str, Any] = {}
    colour: dict[str, Any] = {"colour": "grey"}

    with pytest.raises(TypeError, match="missing"):
        swift(ScheduledJob)(**nothing)
    with pytest.raises(TypeError, match="colour"):
        swift(JobCounters)(**colour)


@pytest.mark.parametrize("value", [JOB, JobCounters()], ids=["job", "counters"])
def test_altered_is_what_replace_gives(value: Any) -> None:  # noqa: ANN401 - of any kind
    name = value.__slots__[-1]

    assert altered(value, **{name: None}) == replace(value, **{name: None})
