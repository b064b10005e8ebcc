-- compatible: no
-- What has not ended, by what no claim changes: an index over states is written anew by each.

DROP INDEX executions_open;

CREATE INDEX executions_open ON executions (job_id, available_at, id)
WHERE completed_at IS NULL AND skip_reason IS NULL;
