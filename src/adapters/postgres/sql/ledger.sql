-- `status || ''` is the status as no index knows it. The planner trusts statistics by which next to nothing is pending
-- or running, and would look for ids through a partial index that is full of rows long gone; so it takes the primary key.

-- name: claim
-- Whoever does not get the row drops the message, so duplicate deliveries are harmless, and a row that somebody else
-- has locked is not waited for. A claim raises the attempt, which is the fence of every later write. It is a whole
-- transaction as long as nobody listens to starts; else it takes nothing, unless they are told (`is_told`) in the same.
UPDATE executions AS e
SET
    status = 'running', attempt = e.attempt + 1, started_at = coalesce(:now::timestamptz, now()), next_retry_at = NULL,
    redispatches = 0, worker_id = :worker_id,
    lease_expires_at = coalesce(:now::timestamptz, now())
    + make_interval(secs => coalesce(j.lock_timeout_seconds, :lock_timeout_seconds::integer))
FROM jobs AS j
WHERE
    j.id = e.job_id
    AND e.id = ANY(ARRAY(
        SELECT c.id
        FROM executions AS c
        WHERE c.id = ANY(:ids::uuid[]) AND c.status || '' = 'pending' AND c.dispatched_at IS NOT NULL
        ORDER BY c.id
        FOR NO KEY UPDATE SKIP LOCKED
    ))
    AND (
        :is_told::boolean
        OR NOT EXISTS (
            SELECT FROM event_listeners AS l
            WHERE l.hears_starts AND (l.expires_at IS NULL OR l.expires_at > coalesce(:now::timestamptz, now()))
        )
    )
RETURNING
    e.id, e.job_id, e.tenant_id, e.origin, e.payload, e.attempt, e.failures, e.max_retries, e.scheduled_at,
    e.created_at, e.available_at, e.started_at, e.idempotency_key, e.correlation_id, e.event_id, e.depth, e.trace_id,
    e.span_id, e.trace_flags, e.tracestate, j.definition;

-- name: claimed
-- For a worker that never heard what its claim came to.
SELECT
    e.id, e.job_id, e.tenant_id, e.origin, e.payload, e.attempt, e.failures, e.max_retries, e.scheduled_at,
    e.created_at, e.available_at, e.started_at, e.idempotency_key, e.correlation_id, e.event_id, e.depth, e.trace_id,
    e.span_id, e.trace_flags, e.tracestate, j.definition
FROM executions AS e
JOIN jobs AS j ON j.id = e.job_id
WHERE e.id = ANY(:ids::uuid[]) AND e.status || '' = 'running' AND e.worker_id = :worker_id;

-- name: renew
-- One statement for all that a node holds; what has ended keeps its slot only under a live lease. No renewal may be
-- lost because somebody else has locked the row, so it waits, in the order of the ids.
UPDATE executions AS e
SET lease_expires_at = coalesce(:now::timestamptz, now()) + hold.lease
FROM unnest(:ids::uuid[], :attempts::integer[], :leases::interval[]) AS hold (id, attempt, lease)
WHERE
    e.id = hold.id AND e.attempt = hold.attempt AND e.worker_id = :worker_id AND e.lease_expires_at IS NOT NULL
    AND e.id = ANY(ARRAY(
        SELECT l.id
        FROM executions AS l
        WHERE l.id = ANY(:ids::uuid[]) AND l.worker_id = :worker_id AND l.lease_expires_at IS NOT NULL
        ORDER BY l.id
        FOR NO KEY UPDATE
    ))
RETURNING e.id, e.attempt, e.status;

-- name: still_running
-- Which holds are what they were.
SELECT e.id, e.attempt
FROM executions AS e
WHERE e.id = ANY(:ids::uuid[]) AND e.status || '' = 'running';

-- name: jobs_of_executions
-- Whose executions these are, read without a lock in order to know which jobs to lock.
SELECT DISTINCT j.id, j.exhausted, j.type
FROM executions AS e
JOIN jobs AS j ON j.id = e.job_id
WHERE e.id = ANY(:ids::uuid[]);

-- name: lock_held
-- What a finish is held against: a worker that lost its lease must not overwrite what its successor did.
SELECT
    e.id, e.job_id, e.origin, e.scheduled_at, e.attempt, e.failures, e.holds_slot, e.worker_id, e.lease_expires_at,
    e.event_handler_id, e.past_attempts
FROM executions AS e
WHERE e.id = ANY(:ids::uuid[]) AND e.status || '' = 'running'
ORDER BY e.id
FOR NO KEY UPDATE;

-- name: finish
-- An end of executions that are locked and judged; slot and lease stay while the handler is not really gone.
UPDATE executions AS e
SET
    status = f.status, failures = f.failures, result = f.result, error = f.error, error_type = f.error_type,
    error_stack = f.error_stack, completed_at = f.completed_at, duration_ms = f.duration_ms,
    past_attempts = f.past_attempts, holds_slot = e.holds_slot AND NOT f.releases_slot,
    lease_expires_at = CASE WHEN f.releases_slot THEN NULL ELSE e.lease_expires_at END
FROM unnest(
    :id::uuid[], :status::text[], :failures::integer[], :result::json[], :error::text[], :error_type::text[],
    :error_stack::text[], :completed_at::timestamptz[], :duration_ms::bigint[], :past_attempts::json[],
    :releases_slot::boolean[]
) AS f (
    id, status, failures, result, error, error_type, error_stack, completed_at, duration_ms, past_attempts,
    releases_slot
)
WHERE e.id = f.id;

-- name: hand_back
-- Another attempt will follow in the same slot; what went wrong stays to be seen while it waits.
UPDATE executions AS e
SET
    status = 'pending', failures = f.failures, error = f.error, error_type = f.error_type,
    error_stack = f.error_stack, past_attempts = f.past_attempts, available_at = f.available_at,
    next_retry_at = f.next_retry_at, dispatched_at = f.dispatched_at, redispatches = 0, worker_id = NULL,
    lease_expires_at = NULL
FROM unnest(
    :id::uuid[], :failures::integer[], :error::text[], :error_type::text[], :error_stack::text[],
    :past_attempts::json[], :available_at::timestamptz[], :next_retry_at::timestamptz[], :dispatched_at::timestamptz[]
) AS f (id, failures, error, error_type, error_stack, past_attempts, available_at, next_retry_at, dispatched_at)
WHERE e.id = f.id;

-- name: lock_unreleased
-- Ended executions that keep a slot or a lease for a handler that is not gone.
SELECT e.id, e.job_id, e.attempt, e.holds_slot
FROM executions AS e
WHERE
    e.id = ANY(:ids::uuid[]) AND e.lease_expires_at IS NOT NULL AND e.status || '' NOT IN ('pending', 'running')
ORDER BY e.id
FOR NO KEY UPDATE;

-- name: release
-- Their handlers are gone.
UPDATE executions SET holds_slot = false, lease_expires_at = NULL WHERE id = ANY(:ids::uuid[]);

-- name: lapsed
-- Oldest first; whether the node is dead is for the sweeper to say. What started in the future did so before the clock
-- was set back, so that its lease looks longer than it is. There are no more rows to look at than handlers running, and
-- what those that ran before `since` have left behind is passed over (`Frontier`).
SELECT
    e.id, e.attempt, e.lease_expires_at, coalesce(j.lock_timeout_seconds, :lock_timeout_seconds) AS lock_timeout_seconds
FROM executions AS e
JOIN jobs AS j ON j.id = e.job_id
WHERE
    e.is_leased
    AND e.started_at >= :since
    AND (e.lease_expires_at <= :now OR e.started_at > :now)
ORDER BY e.lease_expires_at, e.id
LIMIT :limit;

-- name: first_leased
-- Before when no lease is left; worded, as is `first_dispatched`, so that the first row found is the last one read.
SELECT (
    SELECT started_at FROM executions WHERE is_leased AND started_at >= :since ORDER BY started_at LIMIT 1
) AS started_at;

-- name: expired
-- Which of the leases that were seen so still are, with what they were for.
SELECT
    e.id, e.job_id, e.tenant_id, e.status, e.origin, e.payload, e.attempt, e.failures, e.max_retries, e.scheduled_at,
    e.created_at, e.available_at, e.started_at, e.lease_expires_at, e.idempotency_key, e.correlation_id, e.event_id,
    e.depth, e.trace_id, e.span_id, e.trace_flags, e.tracestate, j.definition
FROM executions AS e
JOIN jobs AS j ON j.id = e.job_id
WHERE
    e.id = ANY(:ids::uuid[])
    AND e.lease_expires_at IS NOT NULL
    AND (
        e.lease_expires_at <= coalesce(:now::timestamptz, now()) OR e.started_at > coalesce(:now::timestamptz, now())
    )
ORDER BY e.lease_expires_at, e.id;

-- name: mark_ready
-- Retries whose delay has passed, and work handed back for later. What is marked is dispatched after the commit; a
-- crash in between is a lost dispatch, which is repeated.
UPDATE executions AS e
SET dispatched_at = :now
WHERE e.id = ANY(ARRAY(
    SELECT r.id
    FROM executions AS r
    WHERE r.status = 'pending' AND r.dispatched_at IS NULL AND r.available_at IS NOT NULL AND r.available_at <= :now
    ORDER BY r.available_at, r.id
    LIMIT :limit
    FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING e.id, e.available_at;

-- name: next_available
-- Until when the sweeper may sleep.
SELECT min(available_at) AS next_available_at FROM executions
WHERE status = 'pending' AND dispatched_at IS NULL AND available_at IS NOT NULL;

-- name: undelivered
-- The patience doubles with each repeat, so that a backlog is no storm of repeats. What was dispatched in the future
-- was so before the clock was set back, and is looked for apart, so that neither search reads what is recent. The
-- capability is worded as the domain does, and asked for so that the planner counts on finding it: it walks along the
-- index until it has enough, where it would read and sort everything for the sake of few.
WITH named AS NOT MATERIALIZED (
    SELECT
        id,
        priority,
        CASE handler_type WHEN 'function' THEN 'function/' || handler_name ELSE handler_type END AS capability,
        definition
    FROM jobs
),

overdue AS (
    SELECT e.id, e.dispatched_at, e.priority, j.definition
    FROM executions AS e
    JOIN named AS j ON j.id = e.job_id
    WHERE
        e.status = 'pending' AND e.dispatched_at IS NOT NULL
        AND e.dispatched_at <= :now::timestamptz - :grace::interval
        AND e.dispatched_at + :grace::interval * (1 << least(e.redispatches, 6)) <= :now::timestamptz
        AND (e.dispatched_at, e.id) > (:after_at::timestamptz, :after_id::uuid)
        AND (:capabilities::text[] IS NULL OR array_position(:capabilities, j.capability) IS NOT NULL)
    ORDER BY e.dispatched_at, e.id
    LIMIT :limit
),

ahead AS (
    SELECT e.id, e.dispatched_at, e.priority, j.definition
    FROM executions AS e
    JOIN named AS j ON j.id = e.job_id
    WHERE
        e.status = 'pending' AND e.dispatched_at IS NOT NULL
        AND e.dispatched_at > :now::timestamptz
        AND (e.dispatched_at, e.id) > (:after_at::timestamptz, :after_id::uuid)
        AND (:capabilities::text[] IS NULL OR array_position(:capabilities, j.capability) IS NOT NULL)
    ORDER BY e.dispatched_at, e.id
    LIMIT :limit
)

SELECT * FROM overdue
UNION ALL
SELECT * FROM ahead
ORDER BY dispatched_at, id
LIMIT :limit;

-- name: first_dispatched
-- Before when nothing that waits to be claimed is left.
SELECT (
    SELECT dispatched_at
    FROM executions
    WHERE status = 'pending' AND dispatched_at IS NOT NULL AND dispatched_at >= :since
    ORDER BY dispatched_at
    LIMIT 1
) AS dispatched_at;

-- name: redispatch
-- Moving dispatched_at is taking the right to repeat: of ten sweepers that saw the same value, one moves it.
UPDATE executions AS e
SET dispatched_at = :now, redispatches = e.redispatches + 1
FROM unnest(:ids::uuid[], :dispatched_at::timestamptz[]) AS seen (id, dispatched_at)
WHERE
    e.id = seen.id AND e.dispatched_at = seen.dispatched_at
    AND e.id = ANY(ARRAY(
        SELECT l.id
        FROM executions AS l
        WHERE l.id = ANY(:ids::uuid[]) AND l.status || '' = 'pending'
        ORDER BY l.id
        FOR NO KEY UPDATE SKIP LOCKED
    ))
RETURNING e.id;

-- name: append_logs
-- A line that comes twice stays as it was; one whose execution retention has removed is dropped. The lock keeps
-- retention from removing the others in between, and the order keeps two writers of the same lines apart.
WITH kept AS (
    SELECT id FROM executions WHERE id = ANY(:execution_id::uuid[]) ORDER BY id FOR KEY SHARE
)

INSERT INTO execution_logs (execution_id, attempt, sequence, logged_at, level, message, fields)
SELECT line.*
FROM unnest(
    :execution_id::uuid[], :attempt::integer[], :sequence::integer[], :logged_at::timestamptz[], :level::text[],
    :message::text[], :fields::json[]
) AS line (execution_id, attempt, sequence, logged_at, level, message, fields)
JOIN kept ON kept.id = line.execution_id
ORDER BY line.execution_id, line.attempt, line.sequence
ON CONFLICT DO NOTHING;

-- name: lock_reported
-- Progress is shown only for the attempt that makes it.
SELECT e.id, e.attempt, e.metadata
FROM executions AS e
WHERE e.id = ANY(:ids::uuid[]) AND e.status || '' = 'running'
ORDER BY e.id
FOR NO KEY UPDATE;

-- name: save_metadata
-- Whole documents, because the database would write their keys in another order.
UPDATE executions AS e
SET metadata = m.metadata
FROM unnest(:id::uuid[], :metadata::json[]) AS m (id, metadata)
WHERE e.id = m.id;

-- name: past
-- A stretch of executions, oldest id first, and what of it may go: ended, released, and not among the newest of its job,
-- the last of which is sought for each. A job that was deleted long ago keeps none.
SELECT
    s.id,
    s.created_at < :before AS is_old,
    s.created_at < :before AND s.status NOT IN ('pending', 'running') AND NOT s.is_leased
    AND (coalesce(j.deleted_at < :before, false) OR coalesce(s.id <= boundary.id, false)) AS may_go
FROM (
    SELECT id, job_id, created_at, status, is_leased
    FROM executions
    WHERE id > :after
    ORDER BY id
    LIMIT :limit
) AS s
JOIN jobs AS j ON j.id = s.job_id
LEFT JOIN LATERAL (
    SELECT n.id
    FROM executions AS n
    WHERE n.job_id = s.job_id
    ORDER BY n.id DESC
    LIMIT 1 OFFSET :newest::bigint
) AS boundary ON true
ORDER BY s.id;

-- name: remove_executions
-- Their logs go with them; what another sweeper is removing meanwhile is its own, and not counted twice.
DELETE FROM executions
WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE id = ANY(:ids::uuid[]) ORDER BY id FOR UPDATE SKIP LOCKED))
RETURNING id;

-- name: remove_jobs
-- Deleted jobs that the ledger no longer needs; their versions and counters go with them.
DELETE FROM jobs
WHERE id = ANY(ARRAY(
    SELECT j.id
    FROM jobs AS j
    WHERE j.deleted_at < :before AND NOT EXISTS (SELECT 1 FROM executions AS e WHERE e.job_id = j.id)
    ORDER BY j.deleted_at
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
))
RETURNING id;
