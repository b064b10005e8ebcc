DROP INDEX executions_ready;

DROP INDEX executions_admitted;

CREATE INDEX executions_admitted ON executions (dispatched_at, available_at, id)
WHERE status = 'pending' AND available_at IS NOT NULL;
