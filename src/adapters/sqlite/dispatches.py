"""What an executor needs in order to claim executions; each job is read once, however many are its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from ...domain.job import JobDefinition
from ...domain.stored import shared_definition
from ...ports.dispatcher import Dispatch
from .statements import statements
from .transaction import Transaction, array

_EXECUTIONS: Final = statements("executions")
_JOBS: Final = statements("jobs")

Routed: TypeAlias = tuple[str, str, int]
"""An execution's id, its job's and its priority."""


def read_definitions(transaction: Transaction, job_ids: Iterable[str]) -> Mapping[str, JobDefinition]:
    """Read what jobs are, by the text of their ids."""
    rows = transaction.tuples(_JOBS["definitions"], ids=array(dict.fromkeys(job_ids)))
    return {job_id: shared_definition(definition) for job_id, definition in rows}


def read_dispatches(transaction: Transaction, ids: Iterable[object]) -> list[Dispatch]:
    """Word what an executor needs in order to claim these, in their order."""
    if not (wanted := list(map(str, ids))):
        return []
    found = {row[0]: row for row in transaction.tuples(_EXECUTIONS["dispatches"], ids=array(wanted))}
    return dispatches_of(transaction, [found[each] for each in wanted if each in found])


def dispatches_of(transaction: Transaction, rows: Sequence[Routed]) -> list[Dispatch]:
    """Word what an executor needs in order to claim what these rows are of."""
    definitions = read_definitions(transaction, (job_id for _, job_id, _ in rows))
    capabilities = {job_id: definition.capability for job_id, definition in definitions.items()}
    return [
        Dispatch(execution_id=UUID(id_), capability=capabilities[job_id], priority=priority)
        for id_, job_id, priority in rows
    ]
