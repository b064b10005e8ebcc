-- Jobs, what their executions add up to, and every version of their definitions.
-- Instants are microseconds since 1970 in UTC. Documents come last, so that nothing else is read through them.

CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'active', 'paused', 'completed', 'failed', 'cancelled')),
    next_run INTEGER CHECK (next_run IS NULL OR status = 'active'),
    last_run INTEGER,
    last_nominal INTEGER,
    exhausted INTEGER NOT NULL CHECK (exhausted IN (0, 1)),
    outcome TEXT CHECK (outcome IN ('success', 'failed', 'timeout', 'cancelled', 'skipped')),
    created_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    completed_at INTEGER,
    cancelled_at INTEGER,
    deleted_at INTEGER,
    deleted_by TEXT,
    version INTEGER NOT NULL,
    definition TEXT NOT NULL CHECK (json_valid(definition)),
    name TEXT GENERATED ALWAYS AS (json_extract(definition, '$.name')) VIRTUAL,
    key TEXT GENERATED ALWAYS AS (json_extract(definition, '$.key')) VIRTUAL,
    type TEXT GENERATED ALWAYS AS (json_extract(definition, '$.type')) VIRTUAL,
    handler_name TEXT GENERATED ALWAYS AS (json_extract(definition, '$.handler_name')) VIRTUAL,
    priority INTEGER GENERATED ALWAYS AS (json_extract(definition, '$.priority')) VIRTUAL,
    -- Null for what is no length of a lease, whoever wrote it: leases then have the length of the stand-in.
    lock_timeout_seconds INTEGER GENERATED ALWAYS AS (
        CASE
            WHEN json_extract(definition, '$.lock_timeout_seconds') BETWEEN 1 AND 7200
                THEN json_extract(definition, '$.lock_timeout_seconds')
        END
    ) VIRTUAL
);

-- What the timer asks for on every tick.
CREATE INDEX jobs_due ON jobs (next_run, id) WHERE status = 'active' AND next_run IS NOT NULL;

CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, handler_name, key)
WHERE key IS NOT NULL AND status <> 'cancelled' AND deleted_at IS NULL;

CREATE INDEX jobs_of_tenant ON jobs (tenant_id, created_at, id) WHERE deleted_at IS NULL;

CREATE INDEX jobs_by_status ON jobs (tenant_id, status) WHERE deleted_at IS NULL;

CREATE INDEX jobs_deleted ON jobs (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE job_counters (
    job_id TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    executions_count INTEGER NOT NULL,
    success_count INTEGER NOT NULL,
    failure_count INTEGER NOT NULL,
    consecutive_failures INTEGER NOT NULL,
    duration_total_ms INTEGER NOT NULL,
    scheduled_count INTEGER NOT NULL,
    slots_taken INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    live INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE job_versions (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    tenant_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    reason TEXT NOT NULL,
    before TEXT CHECK (before IS NULL OR json_valid(before)),
    after TEXT NOT NULL CHECK (json_valid(after)),
    PRIMARY KEY (job_id, version)
);
