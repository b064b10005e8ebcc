-- compatible: no
-- What has not ended, by what no claim changes: an index over states is written anew by each. So nothing that is pending or
-- running may have an end, which only a stranger can have given it.

UPDATE executions SET completed_at = NULL
WHERE status IN ('pending', 'running') AND completed_at IS NOT NULL;

DROP INDEX executions_open;

CREATE INDEX executions_open ON executions (job_id, available_at, id)
WHERE completed_at IS NULL AND skip_reason IS NULL;
