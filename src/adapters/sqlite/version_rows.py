"""Versions of jobs as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import cast
from uuid import UUID

from ...domain.json import Json, encoded
from ...domain.plan import JobChange
from .instants import from_micros, to_micros
from .transaction import Parameters, Row


def change_row(change: JobChange) -> Parameters:
    """Write one version of a job; where it left the definition as it was, without that."""
    kept = _state_alone if change.keeps_definition else _whole
    return {
        "job_id": str(change.job_id),
        "tenant_id": change.tenant_id,
        "version": change.version,
        "changed_at": to_micros(change.changed_at),
        "changed_by": change.changed_by,
        "reason": change.reason,
        "before": None if change.before is None else encoded(kept(change.before)),
        "after": encoded(kept(change.after)),
    }


def changes_of(job_id: UUID, rows: Iterable[Row]) -> list[JobChange]:
    """
    Read versions of a job, oldest first.

    The oldest has as its `basis` what the last version with a definition recorded, if it has none itself.
    """
    changes: list[JobChange] = []
    definition: Json = None
    for row in rows:
        before, after = None if row["before"] is None else json.loads(row["before"]), json.loads(row["after"])
        if row["basis"] is not None:
            definition = json.loads(row["basis"])["definition"]
        if isinstance(after, dict) and "definition" in after:
            definition = after["definition"]
        elif isinstance(before, dict) and isinstance(after, dict):
            before, after = {"definition": definition, **before}, {"definition": definition, **after}
        changes.append(
            JobChange(
                job_id=job_id,
                tenant_id=row["tenant_id"],
                version=row["version"],
                changed_at=from_micros(row["changed_at"]),
                changed_by=row["changed_by"],
                reason=row["reason"],
                before=before,
                after=after,
            )
        )
    return changes


def _whole(recorded: Json) -> Json:
    return recorded


def _state_alone(recorded: Json) -> Json:
    return {name: value for name, value in cast("Mapping[str, Json]", recorded).items() if name != "definition"}
