"""A database that holds a job in each state, each with executions in each state."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.makers import START, a_job, a_worker, executions_in_every_state
from tocsin.adapters.postgres.execution_rows import execution_row
from tocsin.adapters.postgres.job_rows import change_row, counters_row, job_row
from tocsin.adapters.postgres.log_rows import log_line_row
from tocsin.adapters.postgres.statements import statements
from tocsin.adapters.postgres.transaction import columns
from tocsin.adapters.postgres.workers import worker_row
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.domain.plan import first_version
from tocsin.ports.ledger import LogLine

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

SECOND = timedelta(seconds=1)


async def fill(connection: Connection) -> None:
    """Write the rows, on a connection that sees our tables, into a schema that is up to date."""
    for status in JobStatus:
        await _write(connection, a_job(status=status, key=f"the {status} one"))
    for worker_status in ("live", "draining", "drained", "stopped", "dead"):
        row = worker_row(a_worker(id=worker_status, status=worker_status, anomalies=1))
        await _run(connection, "workers", "beat", {**row, "now": START})
    await _run(connection, "workers", "drain", {"id": "drained", "requested": True})
    for name in ("held", "released"):
        lock = {"name": name, "secret": name, "holder": "node-1", "lease": SECOND, "now": START}
        await _run(connection, "locks", "take", lock)
    await _run(connection, "locks", "release", {"name": "released", "secret": "released"})


async def _write(connection: Connection, job: ScheduledJob) -> None:
    await _run(connection, "jobs", "insert_job", job_row(job))
    await _run(connection, "jobs", "insert_counters", counters_row(job))
    await _run(connection, "jobs", "insert_versions", columns([change_row(first_version(job))]))
    rows = [execution_row(execution) for execution in executions_in_every_state(job)]
    await connection.copy_records_to_table(
        "executions", records=[tuple(row.values()) for row in rows], columns=[*rows[0]]
    )
    for row in rows:
        line = LogLine(execution_id=row["id"], attempt=1, sequence=1, logged_at=START, level="info", message="hello")
        await _run(connection, "ledger", "append_logs", columns([log_line_row(line)]))


async def _run(connection: Connection, file: str, name: str, parameters: Mapping[str, Any]) -> None:
    statement = statements(file)[name]
    await connection.execute(statement.text, *statement.arguments(parameters))
