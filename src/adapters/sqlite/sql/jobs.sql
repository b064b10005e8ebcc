-- name: insert_job
-- The definition is one document, whose parts that lists filter by are told by a view.
INSERT INTO jobs (
    id, tenant_id, status, next_run, last_run, last_nominal, exhausted, outcome, created_by, created_at, updated_at,
    completed_at, cancelled_at, deleted_at, deleted_by, created_in, depth, version, definition
)
VALUES (
    :id, :tenant_id, :status, :next_run, :last_run, :last_nominal, :exhausted, :outcome, :created_by, :created_at,
    :updated_at, :completed_at, :cancelled_at, :deleted_at, :deleted_by, :created_in, :depth, :version,
    :definition
);

-- name: insert_counters
-- Counters have a row of their own, as on engines where a finish must not lock what the timer wants.
INSERT INTO job_counters (
    executions_count, success_count, failure_count, consecutive_failures, duration_total_ms, scheduled_count,
    slots_taken, waiting, live, job_id
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: insert_version
-- Every version is kept with what was before and after, the proof needs it; the definition only where it changed.
INSERT INTO job_versions (job_id, tenant_id, version, changed_at, changed_by, reason, before, after)
VALUES (:job_id, :tenant_id, :version, :changed_at, :changed_by, :reason, :before, :after);

-- name: jobs_by_ids
-- The one place where jobs are read, in the order of the ids.
SELECT
    j.id, j.tenant_id, j.status, j.next_run, j.last_run, j.last_nominal, j.exhausted, j.outcome, j.created_by,
    j.created_at, j.updated_at, j.completed_at, j.cancelled_at, j.deleted_at, j.deleted_by, j.created_in, j.depth,
    j.version, j.definition,
    c.executions_count, c.success_count, c.failure_count, c.consecutive_failures, c.duration_total_ms,
    c.scheduled_count, c.slots_taken, c.waiting, c.live
FROM json_each(:ids) AS wanted
CROSS JOIN jobs AS j ON j.id = wanted.value
CROSS JOIN job_counters AS c ON c.job_id = j.id
ORDER BY wanted.key;

-- name: definitions
-- What jobs are, without how they stand.
SELECT j.id, j.definition
FROM json_each(:ids) AS wanted
CROSS JOIN jobs AS j ON j.id = wanted.value;

-- name: due_jobs
-- Earliest first, so that a backlog is worked off in the order in which it arose.
SELECT id FROM jobs
WHERE status = 'active' AND next_run IS NOT NULL AND next_run <= :until
ORDER BY next_run, id
LIMIT :limit;

-- name: next_due
-- Until when the timer may sleep.
SELECT min(next_run) AS next_due FROM jobs WHERE status = 'active' AND next_run IS NOT NULL;

-- name: job_with_key
-- A key is free again once its job is cancelled or deleted.
SELECT id FROM described_jobs
WHERE
    tenant_id = :tenant_id AND handler_name = :handler_name AND key = :key
    AND status <> 'cancelled' AND deleted_at IS NULL AND id <> :id;

-- name: save_state
-- Where a job stands; the definition stays as it is written, readable or not.
UPDATE jobs
SET
    status = :status, next_run = :next_run, last_run = :last_run, last_nominal = :last_nominal,
    exhausted = :exhausted, outcome = :outcome, updated_at = :updated_at, completed_at = :completed_at,
    cancelled_at = :cancelled_at, deleted_at = :deleted_at, deleted_by = :deleted_by, version = :version
WHERE id = :id;

-- name: advance
-- Where a job stands once it has fired, if nothing else of that is another: this leaves all indexes but one alone.
-- ?1 next_run, ?2 last_run, ?3 last_nominal, ?4 exhausted, ?5 id; what must be the same: ?6 outcome, ?7 status, ?8 version,
-- ?9 updated_at
UPDATE jobs
SET next_run = ?1, last_run = ?2, last_nominal = ?3, exhausted = ?4
WHERE id = ?5 AND outcome IS ?6 AND status = ?7 AND version = ?8 AND updated_at = ?9;

-- name: save_standing
-- How a job stands, such as over, or with another outcome, if it is as far as it was: this leaves the index of deleted
-- jobs alone, and that of all in order.
-- ?1 status, ?2 outcome, ?3 completed_at, ?4 updated_at, ?5 version, ?6 id
UPDATE jobs SET status = ?1, outcome = ?2, completed_at = ?3, updated_at = ?4, version = ?5 WHERE id = ?6;

-- name: save_definition
-- What only a request changes.
UPDATE jobs SET definition = :definition WHERE id = :id;

-- name: save_counters
-- Whole rows, because the rules that count are the domain's.
UPDATE job_counters
SET
    executions_count = ?1, success_count = ?2, failure_count = ?3, consecutive_failures = ?4, duration_total_ms =
    ?5, scheduled_count = ?6, slots_taken = ?7, waiting = ?8, live = ?9
WHERE job_id = ?10;

-- name: count_versions
-- Also those of a deleted job, since its ledger outlives it.
SELECT count(*) AS total FROM job_versions AS v WHERE v.job_id = :job_id AND v.tenant_id = :tenant_id;

-- name: versions
-- The newest first, by the key of the table read backwards. A version that did not change the definition does not repeat
-- it; the oldest of a page is told what the last one with a definition recorded.
WITH page AS MATERIALIZED (
    SELECT job_id, tenant_id, version, changed_at, changed_by, reason, before, after
    FROM job_versions
    WHERE job_id = :job_id AND version < :below
    ORDER BY version DESC
    LIMIT :limit
)

SELECT
    v.job_id, v.tenant_id, v.version, v.changed_at, v.changed_by, v.reason, v.before, v.after,
    false AS stands,
    CASE WHEN v.version = (SELECT min(version) FROM page) AND json_type(v.after, '$.definition') IS NULL
        THEN (
            SELECT b.after FROM job_versions AS b
            WHERE b.job_id = v.job_id AND b.version < v.version AND json_type(b.after, '$.definition') IS NOT NULL
            ORDER BY b.version DESC
            LIMIT 1
        )
    END AS basis
FROM page AS v
ORDER BY v.version DESC;

-- name: matching_jobs
-- One row with the total and the ids of a page, so that sorting carries no documents; a null condition asks for
-- nothing, and absent values come last whichever way the list goes.
WITH matching AS (
    SELECT
        id,
        CASE :sort_by
            WHEN 'created_at' THEN created_at
            WHEN 'next_run' THEN next_run
            WHEN 'name' THEN name
            WHEN 'priority' THEN priority
        END AS place
    FROM described_jobs
    WHERE
        tenant_id = :tenant_id AND deleted_at IS NULL
        AND (:type IS NULL OR type IN (SELECT value FROM json_each(:type)))
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status)))
        AND (:handler_name IS NULL OR handler_name IN (SELECT value FROM json_each(:handler_name)))
        AND (:key IS NULL OR key IN (SELECT value FROM json_each(:key)))
        AND (:created_by IS NULL OR created_by IN (SELECT value FROM json_each(:created_by)))
        AND (:name_contains IS NULL OR instr(lower(name), lower(:name_contains)) > 0)
        AND (:created_after IS NULL OR created_at >= :created_after)
        AND (:created_before IS NULL OR created_at <= :created_before)
        AND (:next_run_after IS NULL OR next_run >= :next_run_after)
        AND (:next_run_before IS NULL OR next_run <= :next_run_before)
        AND (
            :tags IS NULL
            OR EXISTS (
                SELECT 1 FROM json_each(definition, '$.tags') AS tag
                WHERE tag.value IN (SELECT value FROM json_each(:tags))
            )
        )
        AND (
            :tags_all IS NULL
            OR NOT EXISTS (
                SELECT value FROM json_each(:tags_all)
                EXCEPT
                SELECT value FROM json_each(definition, '$.tags')
            )
        )
),

page AS (
    SELECT id
    FROM matching
    WHERE
        :cursor_id IS NULL
        OR (place IS NULL) > (:cursor_value IS NULL)
        OR (
            (place IS NULL) = (:cursor_value IS NULL)
            AND CASE
                WHEN :descending THEN (ifnull(place, 0), id) < (ifnull(:cursor_value, 0), :cursor_id)
                ELSE (ifnull(place, 0), id) > (ifnull(:cursor_value, 0), :cursor_id)
            END
        )
    ORDER BY
        place IS NULL,
        iif(:descending, NULL, place), iif(:descending, NULL, id),
        iif(:descending, place, NULL) DESC, iif(:descending, id, NULL) DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    (SELECT json_group_array(id) FROM page) AS ids;
