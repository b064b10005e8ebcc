"""A job's recorded versions, read as: which definition was in force, and from when to when it asked for fires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, Self, TypeAlias

from .altered import altered
from .definition import from_document
from .job import JobDefinition, JobStatus, JobType, ScheduledJob
from .lifecycle import ONE_TIME_GRACE, TIMING, UNPLANNABLE
from .plan import JobChange
from .stored import UnreadableDefinition
from .swift import swift
from .version_documents import AS_IT_STANDS

_TIMING: Final = attrgetter(*TIMING)
_TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """
    One version of a job, as far as its nominal times are concerned.

    `job` has the definition of then. While it `fires`, each of its nominal times later than `begins_at` and not later
    than `ends_at` is owed: the change at `ends_at` first accounted for those (design: job). The newest version has no
    end yet. Where `is_lapsed`, that change could not account for anything, as its record says. No record of the
    version lies at or before `earliest_at`.
    """

    number: int
    job: ScheduledJob
    changed_at: datetime
    begins_at: datetime
    earliest_at: datetime
    ends_at: datetime | None
    fires: bool
    is_lapsed: bool


_Version: Final = swift(Version)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The versions of a job in order, what is wrong with their record, and what it cannot tell."""

    versions: Sequence[Version]
    breaks: Sequence[tuple[datetime, str]] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """What a version records of a job."""

    definition: JobDefinition
    status: JobStatus
    is_deleted: bool

    @classmethod
    def of(cls, job: ScheduledJob) -> Self:
        """Give what a version would record of a job as it stands."""
        return cls(job.definition, job.status, job.deleted_at is not None)

    @property
    def timing(self) -> tuple[object, ...]:
        """All that decides which nominal times there are."""
        return self.status, self.is_deleted, *_TIMING(self.definition)

    @property
    def fires(self) -> bool:
        """Whether it asks for fires at all."""
        is_active = self.status is JobStatus.ACTIVE and not self.is_deleted
        return is_active and self.definition.type is not JobType.EVENT

    @property
    def is_unreadable(self) -> bool:
        """Whether it is what a version records of a job whose definition cannot be read."""
        return (self.definition.type, self.definition.name, self.definition.handler_name) == (
            JobType.EVENT,
            "unreadable",
            "unreadable",
        )


_Step: TypeAlias = tuple[JobChange, _State | None, _State]
"""A recorded version, and the states that it led from and to."""


def read_history(job: ScheduledJob, changes: Sequence[JobChange]) -> History:
    """
    Read the recorded versions of a job, oldest first, up to the job as it stands.

    A version that cannot be read is left out; that, a gap, and a version that does not begin as the one before it
    ended are breaks.
    """
    breaks: list[tuple[datetime, str]] = []
    readable = []
    read = _States(job)
    for change in changes:
        try:
            readable.append((change, read.state(change.before), read.state(change.after)))
        # A row that somebody else wrote may lack anything and hold anything: each of these says that it does.
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            breaks.append((change.changed_at, f"version {change.version} cannot be read ({type(error).__name__})"))
    steps = [(change, before, after) for change, before, after in readable if after is not None]
    is_readable = not isinstance(job.definition, UnreadableDefinition)
    breaks += _breaks(job, steps, is_readable=is_readable)
    versions = [_version(job, step, following) for step, following in zip(steps, [*steps[1:], None], strict=False)]
    if is_readable or not versions:
        return History(versions=versions, breaks=breaks)
    lapsed = replace(versions[-1], is_lapsed=True)
    note = f"the definition of version {job.version} cannot be read, so that nobody knows what it owes"
    return History(versions=[*versions[:-1], lapsed], breaks=breaks, notes=(note,))


def _version(job: ScheduledJob, step: _Step, following: _Step | None) -> Version:
    change, before, state = step
    earliest_at = change.changed_at
    if state.definition.type is JobType.ONE_TIME:
        # Rescheduling to the same instant makes no version, so a record there may be any version's; it is only owed
        # by one that was given its timing.
        earliest_at -= ONE_TIME_GRACE + _TICK
    is_owed = _is_planned_afresh(change, before, state)
    stands = state.definition is job.definition and state.status is job.status and change.version == job.version
    return _Version(
        number=change.version,
        job=job if stands else altered(job, definition=state.definition, status=state.status, version=change.version),
        changed_at=change.changed_at,
        begins_at=earliest_at if is_owed else change.changed_at,
        earliest_at=earliest_at,
        ends_at=None if following is None else following[0].changed_at,
        fires=state.fires,
        is_lapsed=following is not None and _lapses(step, following),
    )


def _lapses(step: _Step, following: _Step) -> bool:
    """Say whether what ended a version could not account for what was due, or is not known at all."""
    (change, _, left), (later, entered, _) = step, following
    is_next = later.version == change.version + 1 and entered is not None and entered.timing == left.timing
    return not is_next or later.reason.startswith(UNPLANNABLE)


def _is_planned_afresh(change: JobChange, before: _State | None, after: _State) -> bool:
    """Say whether the change gave the job its timing, so that a one_time instant may lie just past (`lifecycle`)."""
    if before is None or change.reason == "rescheduled":
        return True
    return before.definition is not after.definition and _TIMING(before.definition) != _TIMING(after.definition)


def _breaks(job: ScheduledJob, steps: Sequence[_Step], *, is_readable: bool) -> list[tuple[datetime, str]]:
    found = []
    for (earlier, _, left), (later, entered, _) in pairwise(steps):
        if later.version != earlier.version + 1:
            found.append((later.changed_at, f"version {later.version} follows version {earlier.version}"))
        elif entered is not None and not entered.is_unreadable and entered.timing != left.timing:
            text = f"version {later.version} changes a job that was not as version {earlier.version} left it"
            found.append((later.changed_at, text))
    if not steps:
        return [*found, (job.updated_at, "no version is recorded")]
    change, _, state = steps[-1]
    stands = _State.of(job)
    if change.version != job.version or (is_readable and stands != state and stands.timing != state.timing):
        text = f"the job stands at version {job.version} and is not as version {change.version} left it"
        found.append((change.changed_at, text))
    return found


class _States:
    """Reads what versions record; a definition that several have as one and the same document only once."""

    def __init__(self, job: ScheduledJob) -> None:
        self._job = job
        self._definitions: dict[int, JobDefinition] = {}

    def state(self, recorded: Any) -> _State | None:  # noqa: ANN401 - a document as a store has it
        """
        Read one document; None stands for what was before the first version.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: it is none of a version.
        """
        if recorded is None:
            return None
        if recorded is AS_IT_STANDS:
            return replace(_State.of(self._job), definition=self._own_definition())
        written = recorded["definition"]
        if written is AS_IT_STANDS:
            definition = self._own_definition()
        else:
            definition = self._definitions.get(id(written)) or from_document(written)
            self._definitions[id(written)] = definition
        return _State(definition, JobStatus(recorded["status"]), bool(recorded["deleted"]))

    def _own_definition(self) -> JobDefinition:
        definition = self._job.definition
        if not isinstance(definition, UnreadableDefinition):
            return definition
        if definition.unsound is None:
            raise TypeError(definition.problem)
        return definition.unsound


def names_limit(job: ScheduledJob, changes: Sequence[JobChange]) -> bool:
    """Say whether a job or one of its versions has max_executions, so that it matters how many executions were made."""
    if job.definition.max_executions is not None:
        return True
    definitions = (change.after.get("definition") for change in changes if isinstance(change.after, dict))
    return any(isinstance(each, dict) and each.get("max_executions") is not None for each in definitions)
