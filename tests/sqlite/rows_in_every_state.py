"""A file that holds a job in each state, each with executions in each state."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.makers import START, a_handler, a_job, a_worker, an_event, executions_in_every_state
from tocsin.adapters.sqlite.event_handler_rows import handler_row, listener_row
from tocsin.adapters.sqlite.event_rows import event_row, flow_row, gathering_row
from tocsin.adapters.sqlite.execution_rows import execution_row
from tocsin.adapters.sqlite.job_rows import counters_row, job_row
from tocsin.adapters.sqlite.log_rows import log_line_row
from tocsin.adapters.sqlite.statements import statements
from tocsin.adapters.sqlite.version_rows import change_row
from tocsin.adapters.sqlite.workers import worker_row
from tocsin.domain.flow import FlowState, Gathering
from tocsin.domain.job import JobStatus, ScheduledJob
from tocsin.domain.plan import first_version
from tocsin.domain.resolution import Held
from tocsin.ports.ledger import LogLine


def fill(path: Path) -> None:
    """Write the rows into a file whose schema is up to date."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for status in JobStatus:
            _write(connection, a_job(status=status, key=f"the {status} one"))
        for worker_status in ("live", "draining", "drained", "stopped", "dead"):
            row = worker_row(a_worker(id=worker_status, status=worker_status, anomalies=1))
            connection.execute(statements("workers")["beat"], row)
        connection.execute(statements("workers")["drain"], {"id": "drained", "requested": True})
        for name in ("held", "released"):
            lock = {"name": name, "secret": name, "holder": "node-1", "lease": 1, "now": 0}
            connection.execute(statements("locks")["take"], lock)
        connection.execute(statements("locks")["release"], {"name": "released", "secret": "released"})
        _write_events(connection)


def _write(connection: sqlite3.Connection, job: ScheduledJob) -> None:
    connection.execute(statements("jobs")["insert_job"], job_row(job))
    connection.execute(statements("jobs")["insert_counters"], counters_row(job))
    connection.execute(statements("jobs")["insert_version"], change_row(first_version(job)))
    for execution in executions_in_every_state(job):
        connection.execute(statements("executions")["insert_execution"], execution_row(execution))
        line = LogLine(execution_id=execution.id, attempt=1, sequence=1, logged_at=START, level="info", message="hello")
        connection.execute(statements("ledger")["append_log"], log_line_row(line))


def _write_events(connection: sqlite3.Connection) -> None:
    events, handlers, outbox = (statements(name) for name in ("events", "event_handlers", "outbox"))
    event, handler = an_event(idempotency_key="the key"), a_handler(event="tocsin.**", key="the key")
    gathering = Gathering(id=event.id, event_ids=(event.id,), first_at=START, due_at=START)
    held = Held(handler_id=handler.id, flow_key="7", tenant_id=event.tenant_id, gathering=gathering)
    connection.execute(events["insert_event"], event_row(event))
    connection.execute(handlers["insert_handler"], handler_row(handler))
    connection.execute(handlers["insert_handler_counters"], {"handler_id": str(handler.id)})
    connection.execute(outbox["listen"], listener_row(handler) or {})
    connection.execute(events["save_gathering"], gathering_row(held))
    connection.execute(events["save_flow"], flow_row((handler.id, "7"), FlowState(gathering=gathering)))
    connection.execute(outbox["append"], {"tenant_id": event.tenant_id, "at": 0, "event": "{}"})
    connection.execute(outbox["advance"], {"name": "relay", "position": 1})
