"""What a transaction does that may be a fact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from ...domain.execution import JobExecution
from ...domain.facts import name_of_execution
from ...domain.job import ScheduledJob
from ...domain.plan import JobChange


@dataclass(slots=True)
class News:
    """
    Executions that came to stand otherwise, each under the name of the newest fact about it, and versions of jobs.

    A transaction collects them on its way, and tells them as its last step (`facts.tell`).
    """

    executions: dict[UUID, str] = field(default_factory=dict)
    changes: list[tuple[JobChange, ScheduledJob]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Tell whether anything was done that could be a fact."""
        return bool(self.executions or self.changes)

    def happened(self, name: str, execution_ids: Iterable[UUID]) -> None:
        """Take down that executions came to stand as a fact of this name says."""
        self.executions.update(dict.fromkeys(execution_ids, name))

    def made(self, executions: Iterable[JobExecution]) -> None:
        """Take down new executions."""
        for row in executions:
            if (name := name_of_execution(row)) is not None:
                self.executions[row.id] = name

    def changed(self, change: JobChange, job: ScheduledJob) -> None:
        """Take down a recorded version of a job."""
        self.changes.append((change, job))
