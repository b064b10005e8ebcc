-- name: insert_jobs
-- The definition is one document, whose parts that lists filter by are generated columns. In the order of the keys, so
-- that of two transactions that want the same ones neither waits for the other in a circle.
INSERT INTO jobs (
    id, tenant_id, status, next_run, last_run, last_nominal, exhausted, outcome, created_by, created_at, updated_at,
    completed_at, cancelled_at, deleted_at, deleted_by, created_in, depth, version, definition
)
SELECT * FROM unnest(
    :id::uuid[], :tenant_id::text[], :status::text[], :next_run::timestamptz[], :last_run::timestamptz[],
    :last_nominal::timestamptz[], :exhausted::boolean[], :outcome::text[], :created_by::text[],
    :created_at::timestamptz[], :updated_at::timestamptz[], :completed_at::timestamptz[],
    :cancelled_at::timestamptz[], :deleted_at::timestamptz[], :deleted_by::text[], :created_in::text[],
    :depth::smallint[], :version::integer[], :definition::json[]
) AS n (
    id, tenant_id, status, next_run, last_run, last_nominal, exhausted, outcome, created_by, created_at, updated_at,
    completed_at, cancelled_at, deleted_at, deleted_by, created_in, depth, version, definition
)
ORDER BY n.tenant_id, n.definition ->> 'key', n.definition ->> 'handler_name', n.id;

-- name: insert_counters
-- Counters have a row of their own, so that a finish does not lock what the timer wants.
INSERT INTO job_counters (
    job_id, executions_count, success_count, failure_count, consecutive_failures, duration_total_ms,
    scheduled_count, slots_taken, waiting, live
)
SELECT * FROM unnest(
    :job_id::uuid[], :executions_count::bigint[], :success_count::bigint[], :failure_count::bigint[],
    :consecutive_failures::bigint[], :duration_total_ms::bigint[], :scheduled_count::bigint[],
    :slots_taken::integer[], :waiting::integer[], :live::integer[]
);

-- name: insert_versions
-- Every version is kept with what was before and after, the proof needs it; the definition only where it changed.
INSERT INTO job_versions (job_id, tenant_id, version, changed_at, changed_by, reason, before, after)
SELECT * FROM unnest(
    :job_id::uuid[], :tenant_id::text[], :version::integer[], :changed_at::timestamptz[], :changed_by::text[],
    :reason::text[], :before::json[], :after::json[]
);

-- name: lock_due_jobs
-- Earliest first, so that a backlog is worked off in the order in which it arose; what another timer plans is its own.
-- The look begins where something may be due: what lies before may be full of rows long gone.
SELECT
    -- with: stored_job
FROM jobs
WHERE status = 'active' AND next_run IS NOT NULL AND next_run >= :since AND next_run <= :until
ORDER BY next_run, id
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED;

-- name: lock_jobs
-- In the order of their ids, which is every transaction's, so that none waits for one that waits for it. It must be
-- the first lock that a transaction takes, but for keys of flow control.
SELECT id FROM jobs WHERE id = ANY(:ids::uuid[]) ORDER BY id FOR NO KEY UPDATE;

-- name: lock_counters
-- The slots of these jobs are this transaction's to give. After jobs and before executions, in the order of the ids.
SELECT
    job_id, executions_count, success_count, failure_count, consecutive_failures, duration_total_ms, scheduled_count,
    slots_taken, waiting, live
FROM job_counters
WHERE job_id = ANY(:ids::uuid[])
ORDER BY job_id
FOR NO KEY UPDATE;

-- name: lock_free_counters
-- For a timer, which has locked many jobs and must not wait for the slots of one of them with all the others in hand.
SELECT
    job_id, executions_count, success_count, failure_count, consecutive_failures, duration_total_ms, scheduled_count,
    slots_taken, waiting, live
FROM job_counters
WHERE job_id = ANY(:ids::uuid[])
ORDER BY job_id
FOR NO KEY UPDATE SKIP LOCKED;

-- name: lock_due_job
-- One job that is still due, unless another timer has it.
SELECT
    -- with: stored_job
FROM jobs
WHERE id = :id AND status = 'active' AND next_run <= :now
FOR NO KEY UPDATE SKIP LOCKED;

-- name: wait_briefly
-- For a lock, in this transaction.
SELECT set_config('lock_timeout', '1s', true);

-- name: jobs
-- The rows of jobs without their counters, which are read under their own lock.
SELECT * FROM jobs WHERE id = ANY(:ids::uuid[]);

-- name: jobs_by_ids
-- Jobs with their counters as anybody may read them, in the order of the ids.
SELECT
    j.*, c.executions_count, c.success_count, c.failure_count, c.consecutive_failures, c.duration_total_ms,
    c.scheduled_count, c.slots_taken, c.waiting, c.live
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
CROSS JOIN LATERAL (SELECT * FROM jobs WHERE id = wanted.id OFFSET 0) AS j
CROSS JOIN LATERAL (SELECT * FROM job_counters WHERE job_id = wanted.id OFFSET 0) AS c
ORDER BY wanted.place;

-- name: next_due
-- Until when the timer may sleep.
SELECT min(next_run) AS next_due FROM jobs WHERE status = 'active' AND next_run IS NOT NULL AND next_run >= :since;

-- name: job_with_key
-- A key is free again once its job is cancelled or deleted.
SELECT id FROM jobs
WHERE
    tenant_id = :tenant_id AND handler_name = :handler_name AND key = :key
    AND status <> 'cancelled' AND deleted_at IS NULL AND id <> :id;

-- name: wait_for_keys
-- Events that would make jobs of one key come one after the other, in the order of the keys: whoever waited for the row
-- of a job that is replaced meanwhile would find the key taken by one that it has not locked, again and again.
SELECT pg_advisory_xact_lock(ordered.number)
FROM (
    SELECT DISTINCT hashtextextended(array_to_string(ARRAY['tocsin', tenant_id, handler_name, key], chr(31)), 0) AS number
    FROM unnest(:tenant_ids::text[], :handler_names::text[], :keys::text[]) AS wanted (tenant_id, handler_name, key)
    ORDER BY number
    OFFSET 0
) AS ordered;

-- name: jobs_with_keys
-- Who has these keys.
SELECT j.tenant_id, j.handler_name, j.key, j.id
FROM unnest(:tenant_ids::text[], :handler_names::text[], :keys::text[]) AS wanted (tenant_id, handler_name, key)
JOIN jobs AS j ON j.tenant_id = wanted.tenant_id AND j.handler_name = wanted.handler_name AND j.key = wanted.key
WHERE j.status <> 'cancelled' AND j.deleted_at IS NULL;

-- name: cancellable_jobs
-- What is still to fire of what is named by a key, of whatever handler, or by all of its tags; only the latter reads
-- through all that a tenant has.
WITH wanted AS (
    SELECT *
    FROM unnest(:tenant_ids::text[], :keys::text[], :tags::text[]) WITH ORDINALITY AS w (tenant_id, key, tags, place)
)

SELECT wanted.place, j.id
FROM wanted
JOIN jobs AS j ON j.tenant_id = wanted.tenant_id AND j.key = wanted.key
WHERE
    j.status IN ('pending', 'active', 'paused') AND j.deleted_at IS NULL
    AND (j.definition -> 'tags')::jsonb @> wanted.tags::jsonb
UNION ALL
SELECT wanted.place, j.id
FROM wanted
JOIN jobs AS j ON j.tenant_id = wanted.tenant_id
WHERE
    wanted.key IS NULL AND wanted.tags <> '[]'
    AND j.status IN ('pending', 'active', 'paused') AND j.deleted_at IS NULL
    AND (j.definition -> 'tags')::jsonb @> wanted.tags::jsonb
ORDER BY place, id;

-- name: save_states
-- Where jobs stand; definitions stay as they are written, readable or not. An empty array is one of nulls, and what is
-- never null then stays as it is. The ids are given twice because a join to an array of them may be planned as one to
-- all jobs.
UPDATE jobs AS j
SET
    status = coalesce(s.status, j.status), next_run = s.next_run, last_run = s.last_run,
    last_nominal = s.last_nominal, exhausted = coalesce(s.exhausted, j.exhausted), outcome = s.outcome,
    updated_at = coalesce(s.updated_at, j.updated_at), completed_at = s.completed_at, cancelled_at = s.cancelled_at,
    deleted_at = s.deleted_at, deleted_by = s.deleted_by, version = coalesce(s.version, j.version)
FROM unnest(
    :id::uuid[], :status::text[], :next_run::timestamptz[], :last_run::timestamptz[], :last_nominal::timestamptz[],
    :exhausted::boolean[], :outcome::text[], :updated_at::timestamptz[], :completed_at::timestamptz[],
    :cancelled_at::timestamptz[], :deleted_at::timestamptz[], :deleted_by::text[], :version::integer[]
) AS s (
    id, status, next_run, last_run, last_nominal, exhausted, outcome, updated_at, completed_at, cancelled_at,
    deleted_at, deleted_by, version
)
WHERE j.id = s.id AND j.id = ANY(:id::uuid[]);

-- name: save_definition
-- What only a request changes.
UPDATE jobs SET definition = :definition WHERE id = :id;

-- name: save_counters
-- Whole counts, because the rules that count are the domain's; each row is locked by whoever writes it. An empty array
-- leaves a count as it is.
UPDATE job_counters AS c
SET
    executions_count = coalesce(s.executions_count, c.executions_count),
    success_count = coalesce(s.success_count, c.success_count),
    failure_count = coalesce(s.failure_count, c.failure_count),
    consecutive_failures = coalesce(s.consecutive_failures, c.consecutive_failures),
    duration_total_ms = coalesce(s.duration_total_ms, c.duration_total_ms),
    scheduled_count = coalesce(s.scheduled_count, c.scheduled_count),
    slots_taken = coalesce(s.slots_taken, c.slots_taken), waiting = coalesce(s.waiting, c.waiting),
    live = coalesce(s.live, c.live)
FROM unnest(
    :job_id::uuid[], :executions_count::bigint[], :success_count::bigint[], :failure_count::bigint[],
    :consecutive_failures::bigint[], :duration_total_ms::bigint[], :scheduled_count::bigint[],
    :slots_taken::integer[], :waiting::integer[], :live::integer[]
) AS s (
    job_id, executions_count, success_count, failure_count, consecutive_failures, duration_total_ms, scheduled_count,
    slots_taken, waiting, live
)
WHERE c.job_id = s.job_id AND c.job_id = ANY(:job_id::uuid[]);

-- name: now
-- The clock that fires jobs.
SELECT coalesce(:now::timestamptz, now()) AS now;

-- name: lock_job
-- The one job that a request changes; a deleted one does not exist for it.
SELECT * FROM jobs WHERE id = :id AND tenant_id = :tenant_id AND deleted_at IS NULL FOR NO KEY UPDATE;

-- name: lock_own_job
-- The job that an event handler has for itself.
SELECT * FROM jobs WHERE id = :id AND deleted_at IS NULL FOR NO KEY UPDATE;

-- name: versions
-- Newest first, with the count of all of them, also where a page holds none. Also those of a deleted job, since its
-- ledger outlives it. A version that did not change the definition does not repeat it; the oldest of a page is told it.
WITH recorded AS NOT MATERIALIZED (SELECT * FROM job_versions WHERE job_id = :job_id AND tenant_id = :tenant_id),

page AS (
    SELECT * FROM recorded
    WHERE version < :below::bigint
    ORDER BY version DESC
    LIMIT :limit
)

SELECT
    everything.total,
    page.*,
    false AS stands,
    CASE WHEN page.version = (SELECT min(version) FROM page) AND page.after -> 'definition' IS NULL
        THEN (
            SELECT b.after -> 'definition'
            FROM recorded AS b
            WHERE b.version < page.version AND b.after -> 'definition' IS NOT NULL
            ORDER BY b.version DESC
            LIMIT 1
        )
    END AS definition
FROM (SELECT count(*) AS total FROM recorded) AS everything
LEFT JOIN page ON true
WHERE everything.total > 0
ORDER BY page.version DESC;

-- name: matching_jobs
-- One row with the total and the ids of a page. Every plan is made for its values, so that conditions which ask for
-- nothing, and the orders and cursors of the other sorts, are gone before one is chosen: what is left of a list by
-- created_at walks its index. Absent values come last whichever way the list goes.
WITH matching AS NOT MATERIALIZED (
    SELECT id, created_at, next_run, name, priority
    FROM jobs
    WHERE
        tenant_id = :tenant_id AND deleted_at IS NULL
        AND (:type::text[] IS NULL OR type = ANY(:type))
        AND (:status::text[] IS NULL OR status = ANY(:status))
        AND (:handler_name::text[] IS NULL OR handler_name = ANY(:handler_name))
        AND (:key::text[] IS NULL OR key = ANY(:key))
        AND (:created_by::text[] IS NULL OR created_by = ANY(:created_by))
        AND (:name_contains::text IS NULL OR strpos(lower(name), lower(:name_contains COLLATE "C")) > 0)
        AND (:created_after::timestamptz IS NULL OR created_at >= :created_after)
        AND (:created_before::timestamptz IS NULL OR created_at <= :created_before)
        AND (:next_run_after::timestamptz IS NULL OR next_run >= :next_run_after)
        AND (:next_run_before::timestamptz IS NULL OR next_run <= :next_run_before)
        AND (:tags::text[] IS NULL OR (definition -> 'tags')::jsonb ?| :tags)
        AND (:tags_all::text[] IS NULL OR (definition -> 'tags')::jsonb ?& :tags_all)
),

page AS (
    SELECT id
    FROM matching
    WHERE
        :cursor_id::uuid IS NULL
        OR CASE
            WHEN :sort_by::text = 'created_at' AND :descending::boolean
            THEN (created_at, id) < (:cursor_instant::timestamptz, :cursor_id)
            WHEN :sort_by = 'created_at' THEN (created_at, id) > (:cursor_instant, :cursor_id)
            WHEN :sort_by = 'name' AND :descending THEN (name, id) < (:cursor_name::text, :cursor_id)
            WHEN :sort_by = 'name' THEN (name, id) > (:cursor_name, :cursor_id)
            WHEN :sort_by = 'priority' AND :descending THEN (priority, id) < (:cursor_number::bigint, :cursor_id)
            WHEN :sort_by = 'priority' THEN (priority, id) > (:cursor_number, :cursor_id)
            WHEN next_run IS NULL AND :cursor_instant IS NOT NULL THEN true
            WHEN next_run IS NULL AND :descending THEN id < :cursor_id
            WHEN next_run IS NULL THEN id > :cursor_id
            WHEN :descending THEN (next_run, id) < (:cursor_instant, :cursor_id)
            ELSE (next_run, id) > (:cursor_instant, :cursor_id)
        END
    ORDER BY
        CASE WHEN :sort_by = 'created_at' AND NOT :descending THEN created_at END,
        CASE WHEN :sort_by = 'created_at' AND :descending THEN created_at END DESC,
        CASE WHEN :sort_by = 'next_run' AND NOT :descending THEN next_run END NULLS LAST,
        CASE WHEN :sort_by = 'next_run' AND :descending THEN next_run END DESC NULLS LAST,
        CASE WHEN :sort_by = 'name' AND NOT :descending THEN name END NULLS LAST,
        CASE WHEN :sort_by = 'name' AND :descending THEN name END DESC NULLS LAST,
        CASE WHEN :sort_by = 'priority' AND NOT :descending THEN priority END NULLS LAST,
        CASE WHEN :sort_by = 'priority' AND :descending THEN priority END DESC NULLS LAST,
        CASE WHEN NOT :descending THEN id END,
        CASE WHEN :descending THEN id END DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    ARRAY(SELECT id FROM page) AS ids;
