-- The ledger: one row for each fire, all attempts included, and what its handler logged.

CREATE TABLE executions (
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
    CHECK ((skip_reason IS NOT NULL) = (status = 'skipped')),
    CHECK (status <> 'running' OR lease_expires_at IS NOT NULL)
);

-- The promise itself: a nominal time of a job is recorded once, whoever fires.
CREATE UNIQUE INDEX executions_nominal ON executions (job_id, scheduled_at) WHERE origin = 'schedule';

CREATE UNIQUE INDEX executions_idempotency ON executions (job_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Null available_at first: what waits for a slot, oldest first; then what holds one.
CREATE INDEX executions_open ON executions (job_id, available_at, id) WHERE status IN ('pending', 'running');

-- Null dispatched_at first: what is ready, in the order of availability; then what was dispatched, oldest first.
CREATE INDEX executions_admitted ON executions (dispatched_at, available_at, id)
WHERE status = 'pending' AND available_at IS NOT NULL;

CREATE INDEX executions_leased ON executions (lease_expires_at, id) WHERE lease_expires_at IS NOT NULL;

CREATE INDEX executions_of_tenant ON executions (tenant_id, scheduled_at, id);

CREATE INDEX executions_of_job ON executions (job_id, scheduled_at, id);

CREATE INDEX executions_created ON executions (tenant_id, created_at, id);

-- Which executions of a job are its newest, and how old the others are, without reading their rows.
CREATE INDEX executions_newest ON executions (job_id, id, created_at);

CREATE TABLE execution_logs (
    execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    logged_at INTEGER NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    fields TEXT CHECK (fields IS NULL OR json_valid(fields)),
    PRIMARY KEY (execution_id, attempt, sequence)
) WITHOUT ROWID;
