-- Jobs, what their executions add up to, and every version of their definitions.
-- Documents are json, not jsonb: what a caller stored comes back as it was, the order of keys included.

CREATE TABLE jobs (
    id uuid NOT NULL PRIMARY KEY,
    tenant_id text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'active', 'paused', 'completed', 'failed', 'cancelled')),
    next_run timestamptz CHECK (next_run IS NULL OR status = 'active'),
    last_run timestamptz,
    last_nominal timestamptz,
    exhausted boolean NOT NULL,
    outcome text CHECK (outcome IN ('success', 'failed', 'timeout', 'cancelled', 'skipped')),
    created_by text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    completed_at timestamptz,
    cancelled_at timestamptz,
    deleted_at timestamptz,
    deleted_by text,
    version integer NOT NULL,
    definition json NOT NULL,
    -- What lists filter and sort by; names sort by code point, as everywhere else.
    name text COLLATE "C" GENERATED ALWAYS AS (definition ->> 'name') STORED,
    key text COLLATE "C" GENERATED ALWAYS AS (definition ->> 'key') STORED,
    type text COLLATE "C" GENERATED ALWAYS AS (definition ->> 'type') STORED,
    handler_name text COLLATE "C" GENERATED ALWAYS AS (definition ->> 'handler_name') STORED,
    handler_type text COLLATE "C" GENERATED ALWAYS AS (definition ->> 'handler_type') STORED,
    priority integer GENERATED ALWAYS AS ((definition ->> 'priority')::integer) STORED,
    lock_timeout_seconds integer GENERATED ALWAYS AS ((definition ->> 'lock_timeout_seconds')::integer) STORED
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What the timer asks for on every tick. By time first: priority orders dispatch, not firing.
CREATE INDEX jobs_due ON jobs (next_run, id) WHERE status = 'active' AND next_run IS NOT NULL;

CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, handler_name, key)
WHERE key IS NOT NULL AND status <> 'cancelled' AND deleted_at IS NULL;

CREATE INDEX jobs_of_tenant ON jobs (tenant_id, created_at, id) WHERE deleted_at IS NULL;

-- Whose ledgers are watched: what is active, and what has lately ceased to be.
CREATE INDEX jobs_active ON jobs (id) WHERE status = 'active';

CREATE INDEX jobs_changed ON jobs (updated_at, id) WHERE status <> 'active';

-- Lists by status, for those that are few. What is active comes by the index above, and costs its fires nothing here.
CREATE INDEX jobs_inactive ON jobs (tenant_id, status, created_at, id) WHERE deleted_at IS NULL AND status <> 'active';

CREATE INDEX jobs_deleted ON jobs (deleted_at) WHERE deleted_at IS NOT NULL;

-- A row of their own, so that a finish does not lock what the timer wants; nothing but the key is indexed, so that
-- every update of it is HOT.
CREATE TABLE job_counters (
    job_id uuid NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    executions_count bigint NOT NULL,
    success_count bigint NOT NULL,
    failure_count bigint NOT NULL,
    consecutive_failures bigint NOT NULL,
    duration_total_ms bigint NOT NULL,
    scheduled_count bigint NOT NULL,
    slots_taken integer NOT NULL,
    waiting integer NOT NULL,
    live integer NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE TABLE job_versions (
    job_id uuid NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    tenant_id text NOT NULL,
    version integer NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text,
    reason text NOT NULL,
    before json,
    after json NOT NULL,
    PRIMARY KEY (job_id, version)
);
