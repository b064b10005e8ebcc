-- name: outcomes
-- For each job as many of its newest executions as are asked for: one walk each, backwards along the index of the job,
-- however long its history is.
SELECT
    -- with: first_start
    j.id AS job_id, e.id, e.origin, e.status, e.scheduled_at, e.started_at, e.duration_ms
FROM json_each(:job_ids) AS wanted
CROSS JOIN jobs AS j ON j.id = wanted.value AND j.tenant_id = :tenant_id AND j.deleted_at IS NULL
LEFT JOIN executions AS e
    ON e.id IN (SELECT r.id FROM executions AS r WHERE r.job_id = j.id ORDER BY r.scheduled_at DESC, r.id DESC LIMIT :limit)
ORDER BY wanted.key, e.scheduled_at DESC, e.id DESC;

-- name: series_size
-- Whether a series has to do with a sample, found out without counting further; and where rows lie, to pick them from.
SELECT
    (
        SELECT count(*)
        FROM (SELECT 1 FROM executions WHERE tenant_id = :tenant_id AND created_at >= :since LIMIT :at_most + 1)
    ) AS made,
    (SELECT min(rowid) FROM executions) AS lowest,
    (SELECT max(rowid) FROM executions) AS highest;

-- name: series
-- Starts and ends by the bucket that each lies in. Of a sample one row is picked out of each `step`, at another place in
-- each, so that what comes in turns is not always met at the same turn.
WITH RECURSIVE picked (place) AS (
    SELECT :lowest WHERE :step > 1
    UNION ALL
    SELECT place + :step FROM picked WHERE place + :step <= :highest
),

walked AS (
    SELECT status, created_at, started_at, completed_at, covers_count FROM executions
    WHERE :step = 1 AND tenant_id = :tenant_id AND created_at >= :since
    UNION ALL
    SELECT e.status, e.created_at, e.started_at, e.completed_at, e.covers_count
    FROM picked
    CROSS JOIN executions AS e ON e.rowid = picked.place + picked.place * 40503 % :step
    WHERE +e.tenant_id = :tenant_id AND +e.created_at >= :since
)

SELECT
    status,
    CASE WHEN started_at >= :first THEN (started_at - :first) / :width END AS started_in,
    CASE
        WHEN ifnull(completed_at, created_at) >= :first THEN (ifnull(completed_at, created_at) - :first) / :width
    END AS ended_in,
    count(*) AS executions,
    sum(ifnull(covers_count, 1)) AS nominal_times
FROM walked
GROUP BY status, started_in, ended_in;

-- name: series_lateness
-- How late the fires of the schedule first began, in microseconds, for each bucket in which any did, by nearest rank.
WITH RECURSIVE picked (place) AS (
    SELECT :lowest WHERE :step > 1
    UNION ALL
    SELECT place + :step FROM picked WHERE place + :step <= :highest
),

walked AS (
    SELECT scheduled_at, started_at, past_attempts FROM executions
    WHERE :step = 1 AND tenant_id = :tenant_id AND created_at >= :since AND origin = 'schedule'
    UNION ALL
    SELECT e.scheduled_at, e.started_at, e.past_attempts
    FROM picked
    CROSS JOIN executions AS e ON e.rowid = picked.place + picked.place * 40503 % :step
    WHERE +e.tenant_id = :tenant_id AND +e.created_at >= :since AND e.origin = 'schedule'
),

fired AS (
    SELECT
        -- with: first_start
        scheduled_at
    FROM walked
),

ranked AS (
    SELECT
        (first_start - :first) / :width AS bucket,
        first_start - scheduled_at AS late,
        row_number() OVER (
            PARTITION BY (first_start - :first) / :width ORDER BY first_start - scheduled_at
        ) AS place,
        count(*) OVER (PARTITION BY (first_start - :first) / :width) AS total
    FROM fired
    WHERE first_start >= :first
)

SELECT
    bucket,
    min(late) FILTER (WHERE place * 100 >= total * 50) AS p50,
    min(late) FILTER (WHERE place * 100 >= total * 99) AS p99
FROM ranked
GROUP BY bucket;

-- name: due_before
-- Whose next fires come first, along the index that the timer goes by.
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
            SELECT 1
            FROM jobs AS j
            CROSS JOIN executions AS e ON e.job_id = j.id AND e.scheduled_at >= :since AND e.scheduled_at < :until
            WHERE j.id = :job_id AND j.tenant_id = :tenant_id AND j.deleted_at IS NULL
            LIMIT :at_most + 1
        )
    ) AS made,
    (SELECT min(rowid) FROM executions) AS lowest,
    (SELECT max(rowid) FROM executions) AS highest;

-- name: daily
-- How a job's nominal times of each [start, end) stand; a skipped row stands for all that it covers. A sample is picked as
-- that of a series is.
WITH RECURSIVE picked (place) AS (
    SELECT :lowest WHERE :step > 1
    UNION ALL
    SELECT place + :step FROM picked WHERE place + :step <= :highest
),

walked AS (
    SELECT wanted.key AS place, e.status, e.covers_count
    FROM json_each(:days) AS wanted
    CROSS JOIN executions AS e
        ON
            e.job_id = :job_id AND e.scheduled_at >= json_extract(wanted.value, '$[0]')
            AND e.scheduled_at < json_extract(wanted.value, '$[1]')
    WHERE :step = 1
    UNION ALL
    SELECT wanted.key, e.status, e.covers_count
    FROM picked
    CROSS JOIN executions AS e ON e.rowid = picked.place + picked.place * 40503 % :step
    CROSS JOIN json_each(:days) AS wanted
        ON
            e.scheduled_at >= json_extract(wanted.value, '$[0]')
            AND e.scheduled_at < json_extract(wanted.value, '$[1]')
    WHERE +e.job_id = :job_id AND +e.scheduled_at >= :since AND +e.scheduled_at < :until
)

SELECT place, status, sum(ifnull(covers_count, 1)) AS total
FROM walked
WHERE EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = :job_id AND j.tenant_id = :tenant_id AND j.deleted_at IS NULL)
GROUP BY place, status;
