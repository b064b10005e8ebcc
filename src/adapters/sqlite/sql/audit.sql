-- name: watched_jobs
-- Only jobs that are active, or were until lately, may have fired lately; each half has an index of its own.
-- An id that is none, which only a stranger can have written, is left out: no page could be handed out with it.
SELECT id FROM (
    SELECT id FROM jobs WHERE status = 'active' AND id > :after AND id GLOB :readable ORDER BY id LIMIT :limit
)
UNION ALL
SELECT id FROM (
    SELECT id FROM jobs
    WHERE status <> 'active' AND updated_at > :since AND id > :after AND id GLOB :readable
    ORDER BY id
    LIMIT :limit
)
ORDER BY id
LIMIT :limit;

-- name: entries
-- What the schedule recorded later than an instant, and the last that it recorded before, which may reach beyond it.
-- No document is read through, so that large results cost nothing.
SELECT
    -- with: first_start
    e.job_id, e.id, e.job_version, e.status, e.scheduled_at, e.created_at, e.skip_reason, e.covers_until,
    e.covers_count
FROM json_each(:ids) AS wanted
CROSS JOIN executions AS e
    ON e.job_id = wanted.value AND e.scheduled_at >= ifnull(
        (
            SELECT max(p.scheduled_at) FROM executions AS p
            WHERE p.job_id = wanted.value AND p.origin = 'schedule' AND p.scheduled_at <= :since
        ),
        :since
    )
WHERE e.origin = 'schedule'
ORDER BY wanted.key, e.scheduled_at, e.id
LIMIT :limit;

-- name: versions_since
-- For each [job, version], that version and the later ones; for [job, null] from the one in force at an instant on.
-- What a job works with says nothing about when it fires. A version that did not change the definition does not repeat
-- it; the oldest of a job is told what the last one with a definition recorded. What the job stands by, word for word as
-- a version is written, is left out: that is most of all.
WITH wanted AS MATERIALIZED (
    SELECT
        floors.key AS place,
        json_extract(floors.value, '$[0]') AS job_id,
        coalesce(
            json_extract(floors.value, '$[1]'),
            (
                SELECT max(b.version) FROM job_versions AS b
                WHERE b.job_id = json_extract(floors.value, '$[0]') AND b.changed_at <= :since
            ),
            0
        ) AS version
    FROM json_each(:floors) AS floors
),

recorded AS (
    SELECT
        wanted.place,
        wanted.version AS oldest,
        v.*,
        v.version = j.version AND v.after = '{"definition":' || j.definition || ',"status":"' || j.status || '","deleted":'
        || CASE WHEN j.deleted_at IS NULL THEN 'false}' ELSE 'true}' END AS stands
    FROM wanted
    CROSS JOIN jobs AS j ON j.id = wanted.job_id
    CROSS JOIN job_versions AS v ON v.job_id = wanted.job_id AND v.version >= wanted.version
)

SELECT
    v.job_id, v.tenant_id, v.version, v.changed_at, v.changed_by, v.reason,
    json_remove(v.before, '$.definition.payload', '$.definition.metadata') AS before,
    v.stands,
    CASE WHEN NOT v.stands THEN json_remove(v.after, '$.definition.payload', '$.definition.metadata') END AS after,
    CASE WHEN NOT v.stands AND json_type(v.after, '$.definition') IS NULL AND NOT EXISTS (
        SELECT 1 FROM job_versions AS o
        WHERE o.job_id = v.job_id AND o.version >= v.oldest AND o.version < v.version
    )
        THEN (
            SELECT json_remove(b.after, '$.definition.payload', '$.definition.metadata') FROM job_versions AS b
            WHERE b.job_id = v.job_id AND b.version < v.version AND json_type(b.after, '$.definition') IS NOT NULL
            ORDER BY b.version DESC
            LIMIT 1
        )
    END AS basis
FROM recorded AS v
ORDER BY v.place, v.version;

-- name: made_around
-- How many executions count towards max_executions on either side of what is read.
SELECT
    (
        SELECT count(*) FROM executions AS e
        WHERE e.job_id = :job_id AND e.origin = 'schedule' AND e.status <> 'skipped' AND e.scheduled_at < :first
    ) AS made_before,
    (
        SELECT count(*) FROM executions AS e
        WHERE e.job_id = :job_id AND e.origin = 'schedule' AND e.status <> 'skipped' AND e.scheduled_at > :last
    ) AS made_after;
