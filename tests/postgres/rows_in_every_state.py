"""A database that holds a job in each state, each with executions in each state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.makers import START, a_handler, a_job, a_worker, an_event, executions_in_every_state
from tocsin.adapters.postgres.event_handler_rows import handler_row, listener_row
from tocsin.adapters.postgres.event_rows import event_row, flow_row, held_row, outgoing_row
from tocsin.adapters.postgres.execution_rows import execution_columns
from tocsin.adapters.postgres.job_rows import change_row, counters_row, job_row
from tocsin.adapters.postgres.log_rows import log_line_row
from tocsin.adapters.postgres.statements import statements
from tocsin.adapters.postgres.transaction import columns
from tocsin.adapters.postgres.workers import worker_row
from tocsin.domain.flow import FlowState, Gathering
from tocsin.domain.impact import Impact
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.domain.plan import first_version
from tocsin.domain.resolution import Held
from tocsin.ports.ledger import LogLine

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

SECOND = timedelta(seconds=1)

_OPEN = """
INSERT INTO open_executions (execution_id, job_id, dispatched_at)
SELECT id, job_id, dispatched_at FROM executions WHERE job_id = $1 AND status IN ('pending', 'running')"""


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
    await _write_events(connection)


async def _write(connection: Connection, job: ScheduledJob) -> None:
    await _run(connection, "jobs", "insert_jobs", columns([job_row(job)]))
    await _run(connection, "jobs", "insert_counters", columns([counters_row(job)]))
    await _run(connection, "jobs", "insert_versions", columns([change_row(first_version(job))]))
    written = execution_columns([*executions_in_every_state(job)])
    await connection.copy_records_to_table(
        "executions", records=[*zip(*written.values(), strict=True)], columns=[*written]
    )
    await connection.execute(_OPEN, job.id)
    for execution_id in written["id"]:
        line = LogLine(execution_id=execution_id, attempt=1, sequence=1, logged_at=START, level="info", message="hello")
        await _run(connection, "ledger", "append_logs", columns([log_line_row(line)]))


async def _write_events(connection: Connection) -> None:
    handler, event = a_handler(event="tocsin.**"), replace(an_event(idempotency_key="once"), impact=Impact())
    await _run(connection, "event_handlers", "raise_revision", {})
    await _run(connection, "event_handlers", "insert_handler", handler_row(handler))
    await _run(connection, "event_handlers", "insert_handler_counters", {"id": handler.id})
    await _run(connection, "event_handlers", "save_listener", listener_row(handler))
    await _run(connection, "events", "insert_events", columns([event_row(event)]))
    gathering = Gathering(id=event.id, event_ids=(event.id,), first_at=START, due_at=START)
    held = Held(handler_id=handler.id, flow_key="", tenant_id=event.tenant_id, gathering=gathering)
    key = {"handler_ids": [handler.id], "flow_keys": [""], "now": START}
    await _run(connection, "events", "lock_flows", key)
    await _run(connection, "events", "save_gatherings", columns([held_row(held)]))
    flow = flow_row((handler.id, ""), FlowState(gathering=gathering))
    await _run(connection, "events", "save_flows", {**columns([flow]), "now": START})
    for _ in range(2):
        await _run(connection, "outbox", "append", {**columns([outgoing_row(event)]), "now": START})
    await _run(connection, "outbox", "trim", {"before": START + SECOND, "limit": 1, "consumers": []})
    await _run(connection, "outbox", "advance", {"name": "relay", "transaction_id": 1, "sequence": 1})


async def _run(connection: Connection, file: str, name: str, parameters: Mapping[str, Any]) -> None:
    statement = statements(file)[name]
    await connection.execute(statement.text, *statement.arguments(parameters))
