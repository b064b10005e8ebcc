-- What waits to be claimed is kept in the order in which lost dispatches are sought, so that no look at a backlog sorts it;
-- what waits for its time, of which there is less, has an index of its own.

DROP INDEX executions_admitted;

CREATE INDEX executions_admitted ON executions (dispatched_at, id, available_at)
WHERE status = 'pending' AND available_at IS NOT NULL;

CREATE INDEX executions_ready ON executions (available_at, id)
WHERE status = 'pending' AND dispatched_at IS NULL AND available_at IS NOT NULL;
