-- name: totals
-- Everything that can be counted in one walk; a skipped row stands for all the nominal times that it covers.
WITH scope AS (
    SELECT status, covers_count, started_at FROM executions
    WHERE :job_id IS NULL AND tenant_id = :tenant_id AND created_at >= :since
    UNION ALL
    SELECT status, covers_count, started_at FROM executions
    WHERE job_id = :job_id AND +tenant_id = :tenant_id AND created_at >= :since
)

SELECT
    status,
    started_at / 3600000000 % 24 AS hour,
    sum(ifnull(covers_count, 1)) AS total,
    max(started_at) AS last_started_at
FROM scope
GROUP BY status, hour;

-- name: durations
-- A sample of the newest successes is enough for percentiles; either half walks its index backwards until it has it.
WITH of_tenant AS (
    SELECT duration_ms FROM executions
    WHERE
        :job_id IS NULL AND tenant_id = :tenant_id AND created_at >= :since
        AND status = 'success' AND duration_ms IS NOT NULL
    ORDER BY created_at DESC, id DESC
    LIMIT :sample
),

of_job AS (
    SELECT duration_ms FROM executions
    WHERE
        job_id = :job_id AND +tenant_id = :tenant_id AND created_at >= :since
        AND status = 'success' AND duration_ms IS NOT NULL
    ORDER BY id DESC
    LIMIT :sample
)

SELECT duration_ms FROM of_tenant
UNION ALL
SELECT duration_ms FROM of_job
ORDER BY duration_ms;

-- name: lateness
-- In microseconds. Lateness is that of the first start, so the past attempts are asked before the row itself.
WITH of_tenant AS (
    SELECT
        -- with: first_start
        scheduled_at
    FROM executions
    WHERE
        :job_id IS NULL AND tenant_id = :tenant_id AND created_at >= :since
        AND origin = 'schedule' AND first_start IS NOT NULL
    ORDER BY created_at DESC, id DESC
    LIMIT :sample
),

of_job AS (
    SELECT
        -- with: first_start
        scheduled_at
    FROM executions
    WHERE
        job_id = :job_id AND +tenant_id = :tenant_id AND created_at >= :since
        AND origin = 'schedule' AND first_start IS NOT NULL
    ORDER BY id DESC
    LIMIT :sample
)

SELECT first_start - scheduled_at AS late FROM of_tenant
UNION ALL
SELECT first_start - scheduled_at AS late FROM of_job
ORDER BY late;

-- name: failures
-- How often each type of error ended an execution, and what the last of them said.
WITH scope AS (
    SELECT id, status, error_type, error, ifnull(completed_at, created_at) AS seen_at FROM executions
    WHERE :job_id IS NULL AND tenant_id = :tenant_id AND created_at >= :since
    UNION ALL
    SELECT id, status, error_type, error, ifnull(completed_at, created_at) AS seen_at FROM executions
    WHERE job_id = :job_id AND +tenant_id = :tenant_id AND created_at >= :since
),

ranked AS (
    SELECT
        error_type,
        error,
        seen_at,
        count(*) OVER (PARTITION BY error_type) AS total,
        row_number() OVER (PARTITION BY error_type ORDER BY seen_at DESC, id DESC) AS place
    FROM scope
    WHERE status IN ('failed', 'timeout') AND error_type IS NOT NULL
)

SELECT error_type, total, seen_at AS last_seen, error AS last_error
FROM ranked
WHERE place = 1
ORDER BY total DESC, error_type;

-- name: jobs_by_status
-- A deleted job counts nowhere.
SELECT status, count(*) AS total
FROM jobs
WHERE deleted_at IS NULL AND (:tenant_id IS NULL OR tenant_id = :tenant_id)
GROUP BY status;

-- name: due
-- How far the timer is behind.
SELECT count(*) AS total, min(next_run) AS oldest
FROM jobs
WHERE
    status = 'active' AND next_run IS NOT NULL AND next_run <= :now
    AND (:tenant_id IS NULL OR tenant_id = :tenant_id);

-- name: unclaimed
-- What nobody has taken for too long, by what it takes to run it: nobody dispatches again what nobody can run, so that
-- comes to the front of the index, and looking only there costs no more for a large backlog. Worded as the domain does.
WITH stale AS (
    SELECT job_id FROM executions
    WHERE status = 'pending' AND available_at < :before AND (:tenant_id IS NULL OR tenant_id = :tenant_id)
    ORDER BY dispatched_at, id
    LIMIT :sample
)

SELECT
    CASE json_extract(j.definition, '$.handler_type')
        WHEN 'function' THEN 'function/' || j.handler_name ELSE json_extract(j.definition, '$.handler_type')
    END AS capability,
    sum(s.total) AS total
FROM (SELECT job_id, count(*) AS total FROM stale GROUP BY job_id) AS s
CROSS JOIN described_jobs AS j ON j.id = s.job_id
GROUP BY capability;

-- name: queue
-- What pending and running executions wait for, each read by the index that holds only those.
SELECT
    (
        SELECT count(*) FROM executions
        WHERE
            status IN ('pending', 'running') AND completed_at IS NULL AND skip_reason IS NULL
            AND available_at IS NULL AND (:tenant_id IS NULL OR tenant_id = :tenant_id)
    ) AS waiting,
    (
        SELECT count(*) FROM executions
        WHERE status = 'pending' AND available_at <= :now AND (:tenant_id IS NULL OR tenant_id = :tenant_id)
    ) AS ready,
    (
        SELECT count(*) FROM executions
        WHERE status = 'pending' AND available_at > :now AND (:tenant_id IS NULL OR tenant_id = :tenant_id)
    ) AS retrying,
    (
        SELECT count(*) FROM executions
        WHERE
            status = 'running' AND lease_expires_at IS NOT NULL
            AND (:tenant_id IS NULL OR tenant_id = :tenant_id)
    ) AS running,
    (
        SELECT min(available_at) FROM executions
        WHERE status = 'pending' AND available_at <= :now AND (:tenant_id IS NULL OR tenant_id = :tenant_id)
    ) AS oldest_ready;
