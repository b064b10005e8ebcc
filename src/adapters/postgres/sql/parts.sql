-- part: first_start
-- When a handler first began. What was handed back unbegun had no start, and most rows have no past attempt to look at.
CASE past_attempts::text
    WHEN '[]' THEN started_at
    ELSE coalesce(
        (
            SELECT (past.attempt ->> 'started_at')::timestamptz
            FROM json_array_elements(past_attempts) WITH ORDINALITY AS past (attempt, place)
            WHERE past.attempt ->> 'started_at' IS NOT NULL
            ORDER BY past.place
            LIMIT 1
        ),
        started_at
    )
END AS first_start,

-- part: had_begun
-- Whether a handler began for an earlier attempt.
CASE
    WHEN e.attempt > 1
    THEN EXISTS (
        SELECT FROM json_array_elements(e.past_attempts) AS past (attempt) WHERE past.attempt ->> 'started_at' IS NOT NULL
    )
    ELSE false
END AS had_begun,

-- part: ended_well
-- Good ends, of what is held, and that they are no longer open.
ended AS (
    UPDATE executions AS e
    SET
        status = 'success', failures = 0, result = f.result, error = NULL, error_type = NULL, error_stack = NULL,
        started_at = coalesce('epoch'::timestamptz + f.started_us * interval '1 microsecond', e.started_at),
        completed_at = 'epoch'::timestamptz + f.completed_us * interval '1 microsecond',
        duration_ms = f.duration_ms, holds_slot = false, lease_expires_at = NULL
    FROM unnest(
        :ids::uuid[], :attempt::integer[], :result::json[], :started_us::bigint[], :completed_us::bigint[],
        :duration_ms::bigint[]
    ) AS f (id, attempt, result, started_us, completed_us, duration_ms)
    WHERE e.id = f.id AND e.attempt = coalesce(f.attempt, 1) AND e.id = ANY(ARRAY(SELECT id FROM held))
    RETURNING e.id, e.job_id, e.duration_ms
),

closed AS (DELETE FROM open_executions WHERE execution_id = ANY(ARRAY(SELECT id FROM ended))),

-- part: horizon
SELECT
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS certain,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS following,
    e.transaction_id::text::bigint AS end_id,
    e.sequence AS end_sequence
FROM (SELECT) AS always
LEFT JOIN outbox_end AS e ON true

-- part: stored_job
-- A job as it is stored, without what is generated of its definition for lists.
id, tenant_id, status, next_run, last_run, last_nominal, exhausted, outcome, created_by, created_at, updated_at,
completed_at, cancelled_at, deleted_at, deleted_by, created_in, depth, version, definition
