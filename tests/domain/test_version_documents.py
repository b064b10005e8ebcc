from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from tests.makers import START, a_job
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.domain.json import Json
from tocsin.domain.plan import JobChange, Plan, first_version, versioned
from tocsin.domain.version_documents import Definitions, kept_of

Step: TypeAlias = JobStatus | str
"""Another status, or another name."""

STEPS = st.lists(st.sampled_from(JobStatus) | st.sampled_from(["one", "another"]), max_size=8)


def changes_by(steps: Iterable[Step]) -> list[JobChange]:
    """Make a job and change it step by step."""
    job = a_job(name="one")
    changes = [first_version(job)]
    for step in steps:
        plan = versioned(job, Plan(job=changed(job, step)), START, by=None, reason="a test")
        if plan.change is not None:
            changes.append(plan.change)
        job = plan.job
    return changes


def changed(job: ScheduledJob, step: Step) -> ScheduledJob:
    if isinstance(step, JobStatus):
        return replace(job, status=step)
    return replace(job, definition=replace(job.definition, name=step))


def definition_in(recorded: Json) -> Json:
    assert isinstance(recorded, Mapping)
    return recorded.get("definition")


@given(STEPS)
def test_versions_are_read_as_they_were_recorded(steps: list[Step]) -> None:
    changes = changes_by(steps)
    definitions = Definitions()

    assert [definitions.whole(*kept_of(each)) for each in changes] == [(each.before, each.after) for each in changes]


@given(STEPS, st.integers(0, 8))
def test_versions_are_read_from_any_on_by_what_the_one_before_had(steps: list[Step], first: int) -> None:
    changes = changes_by(steps)
    definitions = Definitions()
    for known in changes[:first]:
        definitions.know(definition_in(known.after))

    read = [definitions.whole(*kept_of(each)) for each in changes[first:]]

    assert read == [(each.before, each.after) for each in changes[first:]]


@given(STEPS)
def test_a_definition_is_stored_where_it_was_changed(steps: list[Step]) -> None:
    for change in changes_by(steps)[1:]:
        before, after = kept_of(change)
        is_changed = definition_in(change.before) != definition_in(change.after)

        assert is_changed == (definition_in(before) is not None) == (definition_in(after) is not None)
