-- Every plan is made for its values: without a job the condition on it is gone before one is chosen.

-- name: totals
-- Everything that can be counted in one walk; a skipped row stands for all the nominal times that it covers.
SELECT
    status,
    extract(hour FROM started_at AT TIME ZONE 'UTC')::integer AS hour,
    sum(coalesce(covers_count, 1))::bigint AS total,
    max(started_at) AS last_started_at
FROM executions
WHERE tenant_id = :tenant_id AND (:job_id::uuid IS NULL OR job_id = :job_id) AND created_at >= :since
GROUP BY status, hour;

-- name: durations
-- A sample of the newest successes is enough for percentiles: the index of the tenant, or of the job, is walked
-- backwards until there is one.
WITH newest AS (
    SELECT duration_ms FROM executions
    WHERE
        tenant_id = :tenant_id AND (:job_id::uuid IS NULL OR job_id = :job_id) AND created_at >= :since
        AND status = 'success' AND duration_ms IS NOT NULL
    ORDER BY CASE WHEN :job_id IS NULL THEN created_at END DESC, id DESC
    LIMIT :sample
)

SELECT duration_ms FROM newest ORDER BY duration_ms;

-- name: lateness
-- In milliseconds. Lateness is that of the first start, so the past attempts are asked before the row itself.
WITH fired AS (
    SELECT
        -- with: first_start
        id,
        created_at,
        scheduled_at
    FROM executions
    WHERE
        tenant_id = :tenant_id AND (:job_id::uuid IS NULL OR job_id = :job_id) AND created_at >= :since
        AND origin = 'schedule'
),

newest AS (
    SELECT floor(extract(epoch FROM first_start - scheduled_at) * 1000)::bigint AS late
    FROM fired
    WHERE first_start IS NOT NULL
    ORDER BY CASE WHEN :job_id IS NULL THEN created_at END DESC, id DESC
    LIMIT :sample
)

SELECT late FROM newest ORDER BY late;

-- name: failures
-- How often each type of error ended an execution, and what the last of them said.
WITH ranked AS (
    SELECT
        error_type,
        error,
        coalesce(completed_at, created_at) AS seen_at,
        count(*) OVER (PARTITION BY error_type) AS total,
        row_number() OVER (
            PARTITION BY error_type ORDER BY coalesce(completed_at, created_at) DESC, id DESC
        ) AS place
    FROM executions
    WHERE
        tenant_id = :tenant_id AND (:job_id::uuid IS NULL OR job_id = :job_id) AND created_at >= :since
        AND has_failed AND error_type IS NOT NULL
)

SELECT error_type, total AS count, seen_at AS last_seen, error AS last_error
FROM ranked
WHERE place = 1
ORDER BY total DESC, error_type COLLATE "C";

-- name: jobs_by_status
-- A deleted job counts nowhere.
SELECT status, count(*) AS total
FROM jobs
WHERE deleted_at IS NULL AND (:tenant_id::text IS NULL OR tenant_id = :tenant_id)
GROUP BY status;

-- name: due
-- How far the timer is behind.
SELECT count(*) AS total, min(next_run) AS oldest
FROM jobs
WHERE
    status = 'active' AND next_run IS NOT NULL AND next_run <= :now
    AND (:tenant_id::text IS NULL OR tenant_id = :tenant_id);

-- name: queue
-- What pending and running executions wait for, in one walk over those that have not ended.
SELECT
    count(*) FILTER (WHERE e.available_at IS NULL) AS waiting,
    count(*) FILTER (WHERE e.status = 'pending' AND e.available_at <= :now) AS ready,
    count(*) FILTER (WHERE e.status = 'pending' AND e.available_at > :now) AS retrying,
    count(*) FILTER (WHERE e.status = 'running') AS running,
    min(e.available_at) FILTER (WHERE e.status = 'pending' AND e.available_at <= :now) AS oldest_ready
FROM open_executions AS o
CROSS JOIN LATERAL (
    SELECT r.status, r.available_at, r.tenant_id FROM executions AS r WHERE r.id = o.execution_id OFFSET 0
) AS e
WHERE :tenant_id::text IS NULL OR e.tenant_id = :tenant_id;

-- name: unclaimed
-- What nobody has taken for too long, by what it takes to run it: nobody dispatches again what nobody can run, so that
-- comes to the front of the indexes, and looking only there costs no more for a large backlog; what the sweepers know to
-- be gone is passed over. Worded as the domain does.
WITH undispatched AS (
    SELECT o.job_id
    FROM open_executions AS o
    JOIN jobs AS j ON j.id = o.job_id
    WHERE o.wakes_at IS NOT NULL AND o.wakes_at < :before AND (:tenant_id::text IS NULL OR j.tenant_id = :tenant_id)
    ORDER BY o.wakes_at, o.execution_id
    LIMIT :sample::bigint
),

dispatched AS (
    SELECT o.job_id
    FROM open_executions AS o
    CROSS JOIN LATERAL (
        SELECT r.status, r.available_at, r.tenant_id FROM executions AS r WHERE r.id = o.execution_id OFFSET 0
    ) AS e
    WHERE
        o.dispatched_at IS NOT NULL AND array_position('{pending}', e.status) IS NOT NULL AND e.available_at < :before
        AND o.dispatched_at >= coalesce((SELECT f.passed FROM frontiers AS f WHERE f.name = 'dispatched'), '-infinity')
        AND (:tenant_id::text IS NULL OR e.tenant_id = :tenant_id)
    ORDER BY o.dispatched_at, o.execution_id
    LIMIT :sample - (SELECT count(*) FROM undispatched)
),

stale AS (SELECT job_id FROM undispatched UNION ALL SELECT job_id FROM dispatched)

SELECT
    CASE j.handler_type WHEN 'function' THEN 'function/' || j.handler_name ELSE j.handler_type END AS capability,
    sum(s.total)::bigint AS total
FROM (SELECT job_id, count(*) AS total FROM stale GROUP BY job_id) AS s
JOIN jobs AS j ON j.id = s.job_id
GROUP BY capability;
