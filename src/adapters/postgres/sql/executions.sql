-- name: insert_executions
-- What a plan makes is new: no attempt, no result. The unique index is the guard against being wrong about that.
INSERT INTO executions (
    id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, idempotency_key,
    available_at, dispatched_at, completed_at, attempt, failures, max_retries, skip_reason, covers_until, covers_count,
    holds_slot, event_id, event_handler_id, depth, retry_of, correlation_id, trace_id, span_id, parent_span_id,
    trace_flags, tracestate, past_attempts, metadata, payload
)
SELECT * FROM unnest(
    :id::uuid[], :job_id::uuid[], :job_version::integer[], :tenant_id::text[], :status::text[], :origin::text[],
    :scheduled_at::timestamptz[], :created_at::timestamptz[], :priority::integer[], :idempotency_key::text[],
    :available_at::timestamptz[], :dispatched_at::timestamptz[], :completed_at::timestamptz[], :attempt::integer[],
    :failures::integer[], :max_retries::integer[], :skip_reason::text[], :covers_until::timestamptz[],
    :covers_count::bigint[], :holds_slot::boolean[], :event_id::uuid[], :event_handler_id::uuid[], :depth::smallint[],
    :retry_of::uuid[], :correlation_id::text[], :trace_id::text[], :span_id::text[], :parent_span_id::text[],
    :trace_flags::smallint[], :tracestate::text[], :past_attempts::json[], :metadata::json[], :payload::json[]
);

-- name: executions_by_ids
-- The one place where whole executions are read, in the order of the ids.
SELECT e.*
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
JOIN executions AS e ON e.id = wanted.id
ORDER BY wanted.place;

-- name: known_nominals
-- Which of these nominal times the ledger has already, and how those rows stand.
SELECT e.job_id, e.scheduled_at, e.status
FROM unnest(:job_ids::uuid[], :scheduled_at::timestamptz[]) AS wanted (job_id, scheduled_at)
JOIN executions AS e ON e.job_id = wanted.job_id AND e.scheduled_at = wanted.scheduled_at
WHERE e.origin = 'schedule';

-- name: oldest_waiting
-- For each job, as many of the oldest waiting executions as it has slots free; its lock on the counters is held, so
-- that nobody else admits or ends them.
SELECT e.id, e.job_id
FROM unnest(:job_ids::uuid[], :slots::integer[]) AS vacancy (job_id, slots)
CROSS JOIN LATERAL (
    SELECT w.id, w.job_id
    FROM executions AS w
    WHERE w.job_id = vacancy.job_id AND w.status = 'pending' AND w.available_at IS NULL
    ORDER BY w.id
    LIMIT vacancy.slots
) AS e
ORDER BY e.id;

-- name: admit_executions
-- What holds a slot is available, and counts as dispatched in the transaction that gave it the slot.
UPDATE executions
SET available_at = :now, dispatched_at = :now, redispatches = 0, holds_slot = true
WHERE id = ANY(:ids::uuid[]);

-- name: dispatches
-- What an executor needs in order to claim these, in the order of the ids.
SELECT e.id, e.priority, e.dispatched_at, j.definition
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
JOIN executions AS e ON e.id = wanted.id
JOIN jobs AS j ON j.id = e.job_id
ORDER BY wanted.place;

-- name: lock_open_executions
-- What a cancelled job still has to end, which may be a great deal: no more of it than is counted.
SELECT id, job_id, status, origin, scheduled_at, available_at, holds_slot
FROM executions
WHERE job_id = ANY(:job_ids::uuid[]) AND status IN ('pending', 'running')
ORDER BY id
FOR NO KEY UPDATE;

-- name: cancel_executions
-- A running one keeps slot and lease until its handler is really gone.
UPDATE executions
SET
    status = 'cancelled', completed_at = :now, next_retry_at = NULL,
    holds_slot = holds_slot AND status = 'running'
WHERE id = ANY(:ids::uuid[]) AND status IN ('pending', 'running');

-- name: execution_with_key
-- A request that is repeated with its key is answered by what it made the first time.
SELECT * FROM executions WHERE job_id = :job_id AND idempotency_key = :idempotency_key;

-- name: lock_executions
-- After their jobs and those counters, in the order of their own ids.
SELECT * FROM executions WHERE id = ANY(:ids::uuid[]) ORDER BY id FOR NO KEY UPDATE;

-- name: matching_executions
-- One row with the total and the ids of a page, both by the index that has them in order: the tenant's or the job's,
-- because every plan is made for its values, and what asks for nothing is gone before one is chosen.
WITH matching AS NOT MATERIALIZED (
    SELECT id, scheduled_at
    FROM executions
    WHERE
        tenant_id = :tenant_id
        AND (:job_id::uuid IS NULL OR job_id = :job_id)
        AND (:event_id::uuid IS NULL OR event_id = :event_id)
        AND (:scheduled_after::timestamptz IS NULL OR scheduled_at >= :scheduled_after)
        AND (:scheduled_before::timestamptz IS NULL OR scheduled_at <= :scheduled_before)
        AND (:status::text[] IS NULL OR status = ANY(:status))
        AND (:origin::text[] IS NULL OR origin = ANY(:origin))
),

page AS (
    SELECT id
    FROM matching
    WHERE :cursor_id::uuid IS NULL OR (scheduled_at, id) < (:cursor_instant::timestamptz, :cursor_id)
    ORDER BY scheduled_at DESC, id DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    ARRAY(SELECT id FROM page) AS ids;

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
