DROP INDEX executions_open;

CREATE INDEX executions_open ON executions (job_id, available_at, id) WHERE status IN ('pending', 'running');
