-- The table as it was, its rows with it.

CREATE TABLE executions_with_lists (
    id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    job_version INTEGER NOT NULL,
    tenant_id TEXT NOT NULL,
    status TEXT NOT NULL
    CHECK (status IN ('pending', 'running', 'success', 'failed', 'timeout', 'cancelled', 'skipped')),
    origin TEXT NOT NULL CHECK (origin IN ('schedule', 'manual', 'event', 'retry', 'backfill')),
    scheduled_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    idempotency_key TEXT,
    available_at INTEGER,
    dispatched_at INTEGER,
    redispatches INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER,
    completed_at INTEGER,
    duration_ms INTEGER,
    attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    max_retries INTEGER NOT NULL,
    next_retry_at INTEGER,
    skip_reason TEXT,
    covers_until INTEGER,
    covers_count INTEGER,
    worker_id TEXT,
    lease_expires_at INTEGER,
    holds_slot INTEGER NOT NULL CHECK (holds_slot IN (0, 1)),
    event_id TEXT,
    retry_of TEXT,
    correlation_id TEXT,
    trace_id TEXT,
    span_id TEXT,
    parent_span_id TEXT,
    error_type TEXT,
    error TEXT,
    error_stack TEXT,
    past_attempts TEXT NOT NULL CHECK (json_valid(past_attempts)),
    metadata TEXT NOT NULL CHECK (json_valid(metadata)),
    payload TEXT CHECK (payload IS NULL OR json_valid(payload)),
    result TEXT CHECK (result IS NULL OR json_valid(result)),
    trace_flags INTEGER NOT NULL DEFAULT 1,
    tracestate TEXT,
    event_handler_id TEXT,
    depth INTEGER NOT NULL DEFAULT 0,
    CHECK ((skip_reason IS NOT NULL) = (status = 'skipped')),
    CHECK (status <> 'running' OR lease_expires_at IS NOT NULL)
);

INSERT INTO executions_with_lists (
    id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, idempotency_key,
    available_at, dispatched_at, redispatches, started_at, completed_at, duration_ms, attempt, failures, max_retries,
    next_retry_at, skip_reason, covers_until, covers_count, worker_id, lease_expires_at, holds_slot, event_id,
    event_handler_id, depth, retry_of, correlation_id, trace_id, span_id, parent_span_id, trace_flags, tracestate,
    error_type, error, error_stack, past_attempts, metadata, payload, result
)
SELECT
    id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, idempotency_key,
    available_at, dispatched_at, redispatches, started_at, completed_at, duration_ms, attempt, failures, max_retries,
    next_retry_at, skip_reason, covers_until, covers_count, worker_id, lease_expires_at, holds_slot, event_id,
    event_handler_id, depth, retry_of, correlation_id, trace_id, span_id, parent_span_id, trace_flags, tracestate,
    error_type, error, error_stack, past_attempts, metadata, payload, result
FROM executions;

CREATE TABLE execution_logs_with_lists (
    execution_id TEXT NOT NULL REFERENCES executions_with_lists (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    logged_at INTEGER NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    fields TEXT CHECK (fields IS NULL OR json_valid(fields)),
    PRIMARY KEY (execution_id, attempt, sequence)
) WITHOUT ROWID;

INSERT INTO execution_logs_with_lists (execution_id, attempt, sequence, logged_at, level, message, fields)
SELECT execution_id, attempt, sequence, logged_at, level, message, fields
FROM execution_logs;

DROP TABLE execution_logs;

DROP TABLE executions;

ALTER TABLE executions_with_lists RENAME TO executions;

ALTER TABLE execution_logs_with_lists RENAME TO execution_logs;

CREATE UNIQUE INDEX executions_nominal ON executions (job_id, scheduled_at) WHERE origin = 'schedule';

CREATE UNIQUE INDEX executions_idempotency ON executions (job_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX executions_open ON executions (job_id, available_at, id) WHERE status IN ('pending', 'running');

CREATE INDEX executions_admitted ON executions (dispatched_at, available_at, id)
WHERE status = 'pending' AND available_at IS NOT NULL;

CREATE INDEX executions_leased ON executions (lease_expires_at, id) WHERE lease_expires_at IS NOT NULL;

CREATE INDEX executions_of_tenant ON executions (tenant_id, scheduled_at, id);

CREATE INDEX executions_of_job ON executions (job_id, scheduled_at, id);

CREATE INDEX executions_created ON executions (tenant_id, created_at, id);

CREATE INDEX executions_newest ON executions (job_id, id, created_at);

CREATE INDEX executions_of_event ON executions (event_id, scheduled_at, id) WHERE event_id IS NOT NULL;
