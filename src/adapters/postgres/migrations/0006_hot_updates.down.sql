DROP FUNCTION not_at_stake;

DROP TABLE open_executions, claims;

-- Dropped with its index, and written anew where the rows are as well.
ALTER TABLE executions
DROP COLUMN has_failed,
ADD COLUMN is_leased boolean NOT NULL GENERATED ALWAYS AS (lease_expires_at IS NOT NULL) STORED;

ALTER TABLE executions SET (fillfactor = 70);

CREATE INDEX executions_open ON executions (job_id, id) WHERE status IN ('pending', 'running');

CREATE INDEX executions_waiting ON executions (job_id, id) WHERE status = 'pending' AND available_at IS NULL;

CREATE INDEX executions_ready ON executions (available_at, id)
WHERE status = 'pending' AND dispatched_at IS NULL AND available_at IS NOT NULL;

CREATE INDEX executions_dispatched ON executions (dispatched_at, id)
WHERE status = 'pending' AND dispatched_at IS NOT NULL;

CREATE INDEX executions_leased ON executions (started_at) WHERE is_leased;

CREATE INDEX executions_failed ON executions (tenant_id, scheduled_at, id) WHERE status IN ('failed', 'timeout');
