-- The ledger: one row for each fire, all attempts included, and what its handler logged.

CREATE TABLE executions (
    id uuid NOT NULL PRIMARY KEY,
    job_id uuid NOT NULL REFERENCES jobs (id),
    job_version integer NOT NULL,
    tenant_id text NOT NULL,
    status text NOT NULL
    CHECK (status IN ('pending', 'running', 'success', 'failed', 'timeout', 'cancelled', 'skipped')),
    origin text NOT NULL CHECK (origin IN ('schedule', 'manual', 'event', 'retry', 'backfill')),
    scheduled_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    priority integer NOT NULL,
    idempotency_key text,
    available_at timestamptz,
    dispatched_at timestamptz,
    redispatches integer NOT NULL DEFAULT 0,
    started_at timestamptz,
    completed_at timestamptz,
    duration_ms bigint,
    attempt integer NOT NULL,
    failures integer NOT NULL,
    max_retries integer NOT NULL,
    next_retry_at timestamptz,
    skip_reason text,
    covers_until timestamptz,
    covers_count bigint,
    worker_id text,
    lease_expires_at timestamptz,
    holds_slot boolean NOT NULL,
    event_id uuid,
    retry_of uuid,
    correlation_id text,
    trace_id text,
    span_id text,
    parent_span_id text,
    error_type text,
    error text,
    error_stack text,
    past_attempts json NOT NULL,
    metadata json NOT NULL,
    payload json,
    result json,
    -- Indexed in place of lease_expires_at, so that a renewal, which leaves it as it is, stays HOT.
    is_leased boolean NOT NULL GENERATED ALWAYS AS (lease_expires_at IS NOT NULL) STORED,
    CHECK ((skip_reason IS NOT NULL) = (status = 'skipped')),
    CHECK (status <> 'running' OR lease_expires_at IS NOT NULL)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

-- The promise itself: a nominal time of a job is recorded once, whoever fires.
CREATE UNIQUE INDEX executions_nominal ON executions (job_id, scheduled_at) WHERE origin = 'schedule';

CREATE UNIQUE INDEX executions_idempotency ON executions (job_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- What a cancelled job still has to end.
CREATE INDEX executions_open ON executions (job_id, id) WHERE status IN ('pending', 'running');

-- What waits for a slot, oldest first.
CREATE INDEX executions_waiting ON executions (job_id, id) WHERE status = 'pending' AND available_at IS NULL;

-- What was never dispatched since it became available, in the order of availability.
CREATE INDEX executions_ready ON executions (available_at, id)
WHERE status = 'pending' AND dispatched_at IS NULL AND available_at IS NOT NULL;

-- What was dispatched and is not claimed, oldest first.
CREATE INDEX executions_dispatched ON executions (dispatched_at, id)
WHERE status = 'pending' AND dispatched_at IS NOT NULL;

-- What is leased; as few rows as there are handlers running, so that those lapsed are found by looking at all of them,
-- from the first start on.
CREATE INDEX executions_leased ON executions (started_at) WHERE is_leased;

CREATE INDEX executions_of_tenant ON executions (tenant_id, scheduled_at, id);

-- Lists of what went wrong, which are few among many.
CREATE INDEX executions_failed ON executions (tenant_id, scheduled_at, id) WHERE status IN ('failed', 'timeout');

CREATE INDEX executions_of_job ON executions (job_id, scheduled_at, id);

CREATE INDEX executions_created ON executions (tenant_id, created_at, id);

-- Which executions of a job are its newest, and how old the others are, without reading their rows.
CREATE INDEX executions_newest ON executions (job_id, id) INCLUDE (created_at);

CREATE TABLE execution_logs (
    execution_id uuid NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    attempt integer NOT NULL,
    sequence integer NOT NULL,
    logged_at timestamptz NOT NULL,
    level text NOT NULL,
    message text NOT NULL,
    fields json,
    PRIMARY KEY (execution_id, attempt, sequence)
);
