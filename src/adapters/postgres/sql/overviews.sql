-- name: outcomes
-- For each job as many of its newest executions as are asked for: one walk each, backwards along the index of the job,
-- however long its history is.
SELECT
    j.id AS job_id, e.id, e.origin, e.status, e.scheduled_at, e.started_at, e.duration_ms, e.first_start
FROM unnest(:job_ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
JOIN jobs AS j ON j.id = wanted.id AND j.tenant_id = :tenant_id AND j.deleted_at IS NULL
LEFT JOIN LATERAL (
    SELECT
        -- with: first_start
        r.id, r.origin, r.status, r.scheduled_at, r.started_at, r.duration_ms
    FROM executions AS r
    WHERE r.job_id = j.id
    ORDER BY r.scheduled_at DESC, r.id DESC
    LIMIT :limit
) AS e ON true
ORDER BY wanted.place, e.scheduled_at DESC, e.id DESC;

-- name: series_size
-- Whether a series has to do with a sample, found out without counting further; and how many executions there are in all,
-- by the room that they take: a page holds about sixteen, half of it being left for what becomes of them.
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT FROM executions WHERE tenant_id = :tenant_id AND created_at >= :since LIMIT :at_most::bigint + 1
        ) AS counted
    ) AS made,
    pg_relation_size('executions') / current_setting('block_size')::bigint * 16 AS stored;

-- name: series
-- Starts and ends by the bucket that each lies in. Every plan is made for its values, so that of the two ways to look,
-- along the index or at a sample of the pages, the one not asked for is gone before a plan is chosen.
WITH walked AS (
    SELECT status, started_at, coalesce(completed_at, created_at) AS ended_at, covers_count
    FROM executions
    WHERE :percent::real IS NULL AND tenant_id = :tenant_id AND created_at >= :since
    UNION ALL
    SELECT status, started_at, coalesce(completed_at, created_at), covers_count
    FROM executions TABLESAMPLE system (coalesce(:percent, 0)) REPEATABLE (0)
    WHERE :percent IS NOT NULL AND tenant_id = :tenant_id AND created_at >= :since
)

SELECT
    status,
    date_bin(:width::interval, started_at, :first::timestamptz) AS started_in,
    date_bin(:width, ended_at, :first) AS ended_in,
    count(*) AS executions,
    sum(coalesce(covers_count, 1))::bigint AS nominal_times
FROM walked
GROUP BY status, started_in, ended_in;

-- name: series_lateness
-- How late the fires of the schedule first began, for each bucket in which any did, by nearest rank; looked at as above.
WITH walked AS (
    SELECT scheduled_at, started_at, past_attempts
    FROM executions
    WHERE :percent::real IS NULL AND tenant_id = :tenant_id AND created_at >= :since AND origin = 'schedule'
    UNION ALL
    SELECT scheduled_at, started_at, past_attempts
    FROM executions TABLESAMPLE system (coalesce(:percent, 0)) REPEATABLE (0)
    WHERE :percent IS NOT NULL AND tenant_id = :tenant_id AND created_at >= :since AND origin = 'schedule'
),

fired AS (
    SELECT
        -- with: first_start
        scheduled_at
    FROM walked
)

SELECT
    date_bin(:width::interval, first_start, :first::timestamptz) AS bucket,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY first_start - scheduled_at) AS p50,
    percentile_disc(0.99) WITHIN GROUP (ORDER BY first_start - scheduled_at) AS p99
FROM fired
WHERE first_start >= :first
GROUP BY bucket;

-- name: due_before
-- Whose next fires come first, along the index that the timer goes by; of a tenant with few jobs among many, by its own.
SELECT id FROM jobs
WHERE
    status = 'active' AND next_run IS NOT NULL AND next_run <= :until AND tenant_id = :tenant_id AND deleted_at IS NULL
ORDER BY next_run, id
LIMIT :limit;

-- name: daily_size
-- Whether a month has to do with a sample, as a series has (`series_size`).
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT FROM executions
            WHERE job_id = :job_id AND scheduled_at >= :since AND scheduled_at < :until
            LIMIT :at_most::bigint + 1
        ) AS counted
        WHERE EXISTS (SELECT FROM jobs WHERE id = :job_id AND tenant_id = :tenant_id AND deleted_at IS NULL)
    ) AS made,
    pg_relation_size('executions') / current_setting('block_size')::bigint * 16 AS stored;

-- name: daily
-- How a job's nominal times of each day stand; a skipped row stands for all that it covers. Looked at as a series is, but
-- along the index of the job.
WITH walked AS (
    SELECT scheduled_at, status, covers_count
    FROM executions
    WHERE :percent::real IS NULL AND job_id = :job_id AND scheduled_at >= :since AND scheduled_at < :until
    UNION ALL
    SELECT scheduled_at, status, covers_count
    FROM executions TABLESAMPLE system (coalesce(:percent, 0)) REPEATABLE (0)
    WHERE :percent IS NOT NULL AND job_id = :job_id AND scheduled_at >= :since AND scheduled_at < :until
)

SELECT
    width_bucket(scheduled_at, :starts::timestamptz[]) AS place,
    status,
    sum(coalesce(covers_count, 1))::bigint AS total
FROM walked
WHERE EXISTS (SELECT FROM jobs WHERE id = :job_id AND tenant_id = :tenant_id AND deleted_at IS NULL)
GROUP BY place, status;
