-- name: insert_execution
-- Duplicates of a nominal time are told apart before; the unique index is the guard against being wrong about it.
-- The columns are in the order of the fields of an execution.
INSERT INTO executions (
    id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, payload,
    idempotency_key, available_at, dispatched_at, started_at, completed_at, duration_ms, attempt, failures,
    max_retries, next_retry_at, result, error, error_type, error_stack, skip_reason, covers_until, covers_count,
    worker_id, lease_expires_at, holds_slot, event_id, event_handler_id, depth, retry_of, correlation_id, trace_id,
    span_id, parent_span_id, trace_flags, tracestate, metadata, past_attempts
)
VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
    ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42
);

-- name: executions_by_ids
-- The one place where whole executions are read, in the order of the ids.
SELECT e.*
FROM json_each(:ids) AS wanted
CROSS JOIN executions AS e ON e.id = wanted.value
ORDER BY wanted.key;

-- name: known_nominals
-- Which of [nominal time by job] the ledger has already, and how those rows stand.
SELECT e.job_id, e.scheduled_at, e.status
FROM json_each(:nominals) AS wanted
CROSS JOIN executions AS e ON e.job_id = wanted.key AND e.scheduled_at = wanted.value
WHERE e.origin = 'schedule';

-- name: execution_with_key
-- A request that is repeated with its key is answered by what it made the first time.
SELECT id FROM executions WHERE job_id = :job_id AND idempotency_key = :idempotency_key;

-- name: open_executions
-- What cancelled jobs still have to end, by the index that leaves their long past out: states alone do not tell the engine
-- that it holds all of it.
SELECT e.id
FROM json_each(:job_ids) AS wanted
CROSS JOIN executions AS e INDEXED BY executions_open ON e.job_id = wanted.value
WHERE e.status IN ('pending', 'running') AND e.completed_at IS NULL AND e.skip_reason IS NULL
ORDER BY e.id;

-- name: counted_executions
-- No more of what is to be cancelled than is counted, since it may be a great deal.
SELECT e.id, e.job_id, e.status, e.origin, e.scheduled_at, e.available_at, e.holds_slot
FROM json_each(:ids) AS wanted
CROSS JOIN executions AS e ON e.id = wanted.value
ORDER BY wanted.key;

-- name: cancel_executions
-- A running one keeps slot and lease until its handler is really gone.
UPDATE executions
SET
    status = 'cancelled', completed_at = :now, next_retry_at = NULL,
    holds_slot = CASE status WHEN 'running' THEN holds_slot ELSE 0 END
WHERE id IN (SELECT value FROM json_each(:ids)) AND status IN ('pending', 'running');

-- name: oldest_waiting
-- For each [job, slots], as many of the oldest waiting executions as there are slots: one seek each, however
-- long the queue is.
WITH RECURSIVE chosen (job_id, slots, id) AS (
    SELECT
        json_extract(value, '$[0]'),
        json_extract(value, '$[1]'),
        (
            SELECT min(e.id) FROM executions AS e
            WHERE
                e.job_id = json_extract(value, '$[0]') AND e.status IN ('pending', 'running')
                AND e.completed_at IS NULL AND e.skip_reason IS NULL AND e.available_at IS NULL
        )
    FROM json_each(:vacancies)
    UNION ALL
    SELECT
        c.job_id,
        c.slots - 1,
        (
            SELECT min(e.id) FROM executions AS e
            WHERE
                e.job_id = c.job_id AND e.status IN ('pending', 'running')
                AND e.completed_at IS NULL AND e.skip_reason IS NULL AND e.available_at IS NULL AND e.id > c.id
        )
    FROM chosen AS c
    WHERE c.slots > 1 AND c.id IS NOT NULL
)

SELECT job_id, id FROM chosen WHERE id IS NOT NULL ORDER BY id;

-- name: admit_executions
-- What holds a slot is available, and counts as dispatched in the transaction that gave it the slot.
UPDATE executions
SET available_at = :now, dispatched_at = :now, redispatches = 0, holds_slot = 1
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: dispatches
-- What routes executions, beside what their jobs are.
SELECT e.id, e.job_id, e.priority
FROM json_each(:ids) AS wanted
CROSS JOIN executions AS e ON e.id = wanted.value;

-- name: matching_of_tenant
-- One row with the total and the ids of a page, both by the index that has them in order.
WITH matching AS NOT MATERIALIZED (
    SELECT id, scheduled_at
    FROM executions
    WHERE
        tenant_id = :tenant_id
        AND scheduled_at >= :scheduled_after AND scheduled_at <= :scheduled_before
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status)))
        AND (:origin IS NULL OR origin IN (SELECT value FROM json_each(:origin)))
),

page AS (
    SELECT id
    FROM matching
    WHERE :cursor_id IS NULL OR (scheduled_at, id) < (:cursor_value, :cursor_id)
    ORDER BY scheduled_at DESC, id DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    (SELECT json_group_array(id) FROM page) AS ids;

-- name: matching_of_job
-- The same for the history of one job, by the index of its executions.
WITH matching AS NOT MATERIALIZED (
    SELECT id, scheduled_at
    FROM executions
    WHERE
        job_id = :job_id AND +tenant_id = :tenant_id
        AND scheduled_at >= :scheduled_after AND scheduled_at <= :scheduled_before
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status)))
        AND (:origin IS NULL OR origin IN (SELECT value FROM json_each(:origin)))
),

page AS (
    SELECT id
    FROM matching
    WHERE :cursor_id IS NULL OR (scheduled_at, id) < (:cursor_value, :cursor_id)
    ORDER BY scheduled_at DESC, id DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    (SELECT json_group_array(id) FROM page) AS ids;

-- name: matching_of_event
-- The same for what came of one event.
WITH matching AS NOT MATERIALIZED (
    SELECT id, scheduled_at
    FROM executions
    WHERE
        event_id = :event_id AND +tenant_id = :tenant_id AND (:job_id IS NULL OR +job_id = :job_id)
        AND scheduled_at >= :scheduled_after AND scheduled_at <= :scheduled_before
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status)))
        AND (:origin IS NULL OR origin IN (SELECT value FROM json_each(:origin)))
),

page AS (
    SELECT id
    FROM matching
    WHERE :cursor_id IS NULL OR (scheduled_at, id) < (:cursor_value, :cursor_id)
    ORDER BY scheduled_at DESC, id DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    (SELECT json_group_array(id) FROM page) AS ids;

-- name: logs
-- Lines in the order in which they were written, attempt after attempt.
SELECT execution_id, attempt, sequence, logged_at, level, message, fields
FROM execution_logs
WHERE execution_id = :execution_id
ORDER BY attempt, sequence
LIMIT :limit OFFSET :after;

-- name: count_logs
-- How many lines there are to page through.
SELECT count(*) AS total FROM execution_logs WHERE execution_id = :execution_id;
