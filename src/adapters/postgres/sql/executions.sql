-- name: insert_executions
-- What a plan makes is new: no attempt, no result. The unique index is the guard against being wrong about that. An empty
-- array is one of nulls, and so of what is usual.
-- What is not skipped is open.
WITH made AS (
    INSERT INTO executions (
        id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, idempotency_key,
        available_at, dispatched_at, completed_at, attempt, failures, max_retries, skip_reason, covers_until, covers_count,
        holds_slot, event_id, event_handler_id, depth, retry_of, correlation_id, trace_id, span_id, parent_span_id,
        trace_flags, tracestate, past_attempts, metadata, payload
    )
    SELECT
        n.id, n.job_id, n.job_version, n.tenant_id, coalesce(n.status, 'pending'), coalesce(n.origin, 'schedule'),
        n.scheduled_at, n.created_at, n.priority, n.idempotency_key, n.available_at, n.dispatched_at, n.completed_at,
        coalesce(n.attempt, 0), coalesce(n.failures, 0), n.max_retries, n.skip_reason, n.covers_until, n.covers_count,
        n.holds_slot, n.event_id, n.event_handler_id, coalesce(n.depth, 0), n.retry_of, n.correlation_id, n.trace_id,
        n.span_id, n.parent_span_id, coalesce(n.trace_flags, 1), n.tracestate, coalesce(n.past_attempts, '[]'),
        coalesce(n.metadata, '{}'), n.payload
    FROM unnest(
        :id::uuid[], :job_id::uuid[], :job_version::integer[], :tenant_id::text[], :status::text[], :origin::text[],
        :scheduled_at::timestamptz[], :created_at::timestamptz[], :priority::integer[], :idempotency_key::text[],
        :available_at::timestamptz[], :dispatched_at::timestamptz[], :completed_at::timestamptz[], :attempt::integer[],
        :failures::integer[], :max_retries::integer[], :skip_reason::text[], :covers_until::timestamptz[],
        :covers_count::bigint[], :holds_slot::boolean[], :event_id::uuid[], :event_handler_id::uuid[], :depth::smallint[],
        :retry_of::uuid[], :correlation_id::text[], :trace_id::text[], :span_id::text[], :parent_span_id::text[],
        :trace_flags::smallint[], :tracestate::text[], :past_attempts::json[], :metadata::json[], :payload::json[]
    ) AS n (
        id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, idempotency_key,
        available_at, dispatched_at, completed_at, attempt, failures, max_retries, skip_reason, covers_until, covers_count,
        holds_slot, event_id, event_handler_id, depth, retry_of, correlation_id, trace_id, span_id, parent_span_id,
        trace_flags, tracestate, past_attempts, metadata, payload
    )
    RETURNING id, job_id, status, available_at, dispatched_at
)

INSERT INTO open_executions (execution_id, job_id, dispatched_at, wakes_at)
SELECT id, job_id, dispatched_at, CASE WHEN dispatched_at IS NULL THEN available_at END
FROM made
WHERE status = 'pending';

-- name: executions_by_ids
-- The one place where whole executions are read, in the order of the ids.
SELECT e.*
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
JOIN executions AS e ON e.id = wanted.id
WHERE e.id = ANY(:ids::uuid[])
ORDER BY wanted.place;

-- name: known_nominals
-- Which of these nominal times the ledger has already, and how those rows stand.
SELECT e.job_id, e.scheduled_at, e.status
FROM unnest(:job_ids::uuid[], :scheduled_at::timestamptz[]) AS wanted (job_id, scheduled_at)
CROSS JOIN LATERAL (
    SELECT r.job_id, r.scheduled_at, r.status
    FROM executions AS r
    WHERE r.job_id = wanted.job_id AND r.scheduled_at = wanted.scheduled_at AND r.origin = 'schedule'
    OFFSET 0
) AS e;

-- name: oldest_waiting
-- For each job, as many of the oldest waiting executions as it has slots free; its lock on the counters is held, so
-- that nobody else admits or ends them.
SELECT w.execution_id AS id, w.job_id
FROM unnest(:job_ids::uuid[], :slots::integer[]) AS vacancy (job_id, slots)
CROSS JOIN LATERAL (
    SELECT o.execution_id, o.job_id
    FROM open_executions AS o
    WHERE o.job_id = vacancy.job_id AND o.dispatched_at IS NULL AND o.wakes_at IS NULL
    ORDER BY o.execution_id
    LIMIT vacancy.slots
) AS w
ORDER BY w.execution_id;

-- name: admit_executions
-- What holds a slot is available, and counts as dispatched in the transaction that gave it the slot.
WITH admitted AS (
    UPDATE executions
    SET available_at = :now, dispatched_at = :now, redispatches = 0, holds_slot = true
    WHERE id = ANY(:ids::uuid[])
    RETURNING id
)

UPDATE open_executions SET dispatched_at = :now WHERE execution_id = ANY(ARRAY(SELECT id FROM admitted));

-- name: dispatches
-- What an executor needs in order to claim these, in the order of the ids.
SELECT e.id, e.priority, e.dispatched_at, j.definition
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
JOIN executions AS e ON e.id = wanted.id
JOIN jobs AS j ON j.id = e.job_id
WHERE e.id = ANY(:ids::uuid[])
ORDER BY wanted.place;

-- name: lock_open_executions
-- What a cancelled job still has to end, which may be a great deal: no more of it than is counted. An execution that
-- ended meanwhile, or was not made yet, is none.
SELECT id, job_id, status, origin, scheduled_at, available_at, holds_slot
FROM executions
WHERE
    id = ANY(ARRAY(SELECT execution_id FROM open_executions WHERE job_id = ANY(:job_ids::uuid[])))
    AND status IN ('pending', 'running')
ORDER BY id
FOR NO KEY UPDATE;

-- name: cancel_executions
-- A running one keeps slot and lease until its handler is really gone.
WITH cancelled AS (
    UPDATE executions
    SET
        status = 'cancelled', completed_at = :now, next_retry_at = NULL,
        holds_slot = holds_slot AND status = 'running'
    WHERE id = ANY(:ids::uuid[]) AND status IN ('pending', 'running')
    RETURNING id
)

DELETE FROM open_executions WHERE execution_id = ANY(ARRAY(SELECT id FROM cancelled));

-- name: execution_with_key
-- A request that is repeated with its key is answered by what it made the first time.
SELECT * FROM executions WHERE job_id = :job_id AND idempotency_key = :idempotency_key;

-- name: lock_executions
-- After their jobs and those counters, in the order of their own ids.
SELECT * FROM executions WHERE id = ANY(:ids::uuid[]) ORDER BY id FOR NO KEY UPDATE;

-- name: matching_executions
-- One row with the total and the ids of a page, both by the index that has them in order: the tenant's or the job's,
-- because every plan is made for its values, and what asks for nothing is gone before one is chosen. What has not ended and
-- what failed, which are few among many, are looked for among their like.
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
        AND (NOT :is_open::boolean OR id IN (SELECT execution_id FROM open_executions))
        AND (NOT :has_failed::boolean OR has_failed)
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
