-- compatible: no
-- A claim and an end write no index: what they change is indexed nowhere, and what has to be found by it is in narrow
-- tables beside.

-- What is in flight is seen in full, or waits.
LOCK TABLE jobs, job_counters, executions IN ACCESS EXCLUSIVE MODE;

-- What has not ended, from its insert until its end. A claim leaves it as it is.
CREATE TABLE open_executions (
    execution_id uuid NOT NULL PRIMARY KEY,
    job_id uuid NOT NULL,
    -- That of the execution.
    dispatched_at timestamptz,
    -- When a retry, or what was handed back for later, may be dispatched; null for all else.
    wakes_at timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

INSERT INTO open_executions (execution_id, job_id, dispatched_at, wakes_at)
SELECT
    id,
    job_id,
    dispatched_at,
    CASE WHEN status = 'pending' AND dispatched_at IS NULL THEN available_at END
FROM executions
WHERE status IN ('pending', 'running');

-- What a cancelled job still has to end.
CREATE INDEX open_executions_of_job ON open_executions (job_id, execution_id);

-- What waits for a slot, oldest first.
CREATE INDEX open_executions_waiting ON open_executions (job_id, execution_id)
WHERE dispatched_at IS NULL AND wakes_at IS NULL;

-- What waits for its time, in the order of it.
CREATE INDEX open_executions_waking ON open_executions (wakes_at, execution_id) WHERE wakes_at IS NOT NULL;

-- What was dispatched, oldest first; among it, what runs.
CREATE INDEX open_executions_dispatched ON open_executions (dispatched_at, execution_id)
WHERE dispatched_at IS NOT NULL;

-- Under which claims executions run, or keep the slot of a handler that is not gone: one row for all that one call
-- took, there at least until none of them is leased any more.
CREATE TABLE claims (
    id uuid NOT NULL PRIMARY KEY,
    worker_id text NOT NULL,
    claimed_at timestamptz NOT NULL,
    execution_ids uuid[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Ids do not get smaller.
ALTER TABLE claims ALTER COLUMN execution_ids SET STORAGE EXTERNAL;

INSERT INTO claims (id, worker_id, claimed_at, execution_ids)
SELECT gen_random_uuid(), coalesce(worker_id, ''), coalesce(min(started_at), '-infinity'), array_agg(id ORDER BY id)
FROM executions
WHERE is_leased
GROUP BY coalesce(worker_id, '');

CREATE INDEX claims_claimed ON claims (claimed_at);

-- What failed or timed out; a constant default, so that no row is written anew but of these, which are few among many.
ALTER TABLE executions ADD COLUMN has_failed boolean NOT NULL DEFAULT false;

DROP INDEX executions_open, executions_waiting, executions_ready, executions_dispatched, executions_leased,
executions_failed;

UPDATE executions SET has_failed = true WHERE status IN ('failed', 'timeout');

CREATE INDEX executions_failed ON executions (tenant_id, scheduled_at, id) WHERE has_failed;

ALTER TABLE executions DROP COLUMN is_leased;

-- Room on each page for the versions that its rows have until they are vacuumed.
ALTER TABLE executions SET (fillfactor = 50);

-- Which of these jobs no end can be the last of. Being volatile, it has a snapshot of its own for each call, and so sees
-- what was committed after the statement that asks began.
CREATE FUNCTION not_at_stake(ids uuid[], types text[]) RETURNS SETOF uuid LANGUAGE sql VOLATILE AS $$
    SELECT id FROM jobs WHERE id = ANY(ids) AND NOT exhausted AND type <> ALL(types)
$$;
