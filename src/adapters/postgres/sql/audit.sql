-- name: watched_jobs
-- Only jobs that are active, or were until lately, may have fired lately; each half has an index of its own.
(SELECT id FROM jobs WHERE status = 'active' AND id > :after ORDER BY id LIMIT :limit)
UNION ALL
(SELECT id FROM jobs WHERE status <> 'active' AND updated_at > :since AND id > :after ORDER BY id LIMIT :limit)
ORDER BY id
LIMIT :limit;

-- name: entries
-- What the schedule recorded later than an instant, and the last that it recorded before, which may reach beyond it.
-- Of documents only the past attempts are read, and only where there are any, so that large results cost nothing.
SELECT e.*
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
CROSS JOIN LATERAL (
    SELECT coalesce(max(p.scheduled_at), :since::timestamptz) AS instant
    FROM executions AS p
    WHERE p.job_id = wanted.id AND p.origin = 'schedule' AND p.scheduled_at <= :since
) AS beginning
CROSS JOIN LATERAL (
    SELECT
        -- with: first_start
        job_id, id, job_version, status, scheduled_at, created_at, skip_reason, covers_until, covers_count
    FROM executions
    WHERE job_id = wanted.id AND origin = 'schedule' AND scheduled_at >= beginning.instant
    OFFSET 0
) AS e
ORDER BY wanted.place, e.scheduled_at, e.id
LIMIT :limit;

-- name: versions_since
-- For each job with a version, that version and the later ones; without one, from the one in force at an instant on.
-- What a job works with says nothing about when it fires. A version that did not change the definition does not repeat
-- it; the oldest of a job is told it. What the job stands by, word for word as a version is written, is left out: that
-- is most of all, and to take a document apart costs ten times as much as to compare it.
SELECT
    v.job_id, v.tenant_id, v.version, v.changed_at, v.changed_by, v.reason,
    v.before::jsonb #- '{definition,payload}' #- '{definition,metadata}' AS before,
    v.stands,
    CASE WHEN NOT v.stands THEN v.after::jsonb #- '{definition,payload}' #- '{definition,metadata}' END AS after,
    CASE WHEN NOT v.stands AND v.version = first.version AND v.after -> 'definition' IS NULL
        THEN (
            SELECT b.after::jsonb #- '{definition,payload}' #- '{definition,metadata}' -> 'definition'
            FROM job_versions AS b
            WHERE b.job_id = v.job_id AND b.version < v.version AND b.after -> 'definition' IS NOT NULL
            ORDER BY b.version DESC
            LIMIT 1
        )
    END AS definition
FROM unnest(:job_ids::uuid[], :versions::integer[]) WITH ORDINALITY AS wanted (job_id, version, place)
CROSS JOIN LATERAL (
    SELECT min(o.version) AS version
    FROM job_versions AS o
    WHERE o.job_id = wanted.job_id AND o.version >= coalesce(
        wanted.version,
        (
            SELECT max(b.version) FROM job_versions AS b
            WHERE b.job_id = wanted.job_id AND b.changed_at <= :since
        ),
        0
    )
) AS first
CROSS JOIN LATERAL (
    SELECT
        r.*,
        r.version = j.version AND r.after::text = concat(
            '{"definition":', j.definition, ',"status":"', j.status, '","deleted":',
            CASE WHEN j.deleted_at IS NULL THEN 'false' ELSE 'true' END, '}'
        ) AS stands
    FROM job_versions AS r
    JOIN jobs AS j ON j.id = wanted.job_id
    WHERE r.job_id = wanted.job_id AND r.version >= first.version
    OFFSET 0
) AS v
ORDER BY wanted.place, v.version;

-- name: made_around
-- How many executions count towards max_executions on either side of what is read.
SELECT
    count(*) FILTER (WHERE scheduled_at < :first) AS made_before,
    count(*) FILTER (WHERE scheduled_at > :last) AS made_after
FROM executions
WHERE job_id = :job_id AND origin = 'schedule' AND status <> 'skipped';
