"""Versions of jobs as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from ...domain.json import document_of, encoded
from ...domain.plan import JobChange
from ...domain.swift import swift
from ...domain.version_documents import AS_IT_STANDS, Definitions, kept_of
from .instants import from_micros, to_micros
from .transaction import Parameters, Row

_JobChange: Final = swift(JobChange)


def change_row(change: JobChange) -> Parameters:
    """Write one version of a job; where it left the definition as it was, without that."""
    before, after = kept_of(change)
    return {
        "job_id": str(change.job_id),
        "tenant_id": change.tenant_id,
        "version": change.version,
        "changed_at": to_micros(change.changed_at),
        "changed_by": change.changed_by,
        "reason": change.reason,
        "before": None if before is None else encoded(before),
        "after": encoded(after),
    }


def changes_of(job_id: UUID, rows: Iterable[Row]) -> list[JobChange]:
    """
    Read versions of a job, oldest first.

    The oldest has as its `basis` what the last version with a definition recorded, if it has none itself. Where one
    `stands`, its `after` is how the job does.
    """
    changes: list[JobChange] = []
    definitions = Definitions()
    for row in rows:
        if row["basis"] is not None:
            definitions.know(json.loads(row["basis"])["definition"])
        after = AS_IT_STANDS if row["stands"] else json.loads(row["after"])
        before, after = definitions.whole(document_of(row["before"]), after)
        changes.append(
            _JobChange(
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
