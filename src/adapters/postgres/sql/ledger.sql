-- `status || ''` is the status as no index knows it. The planner trusts statistics by which next to nothing is pending
-- or running, and would look for ids through a partial index that is full of rows long gone; so it takes the primary key.

-- name: fire
-- Fires of jobs that are locked with their counters, each with a slot for its one execution, which nothing waits for.
-- Words `new_execution` and `counted` of the domain. What an execution has from its job's row that row is asked for, but
-- not what it has from the definition, which may leave it to a default. Digits, which hold no blank, cross as one text:
-- to write each element of an array takes the driver longer than the server takes to tell it from the others.
WITH fired AS MATERIALIZED (
    SELECT
        unnest(:ids::uuid[]) AS id,
        unnest(:job_ids::uuid[]) AS job_id,
        'epoch'::timestamptz + unnest(:scheduled_us::bigint[]) * interval '1 microsecond' AS scheduled_at,
        'epoch'::timestamptz + unnest(:next_us::bigint[]) * interval '1 microsecond' AS next_run,
        unnest(:priorities::integer[]) AS priority,
        unnest(:max_retries::integer[]) AS max_retries,
        unnest(string_to_array(:trace_ids::text, ' ')) AS trace_id,
        unnest(string_to_array(:span_ids::text, ' ')) AS span_id
),

moved AS (
    UPDATE jobs AS j
    SET
        next_run = f.next_run, last_run = f.scheduled_at, last_nominal = f.scheduled_at,
        exhausted = f.next_run IS NULL, outcome = NULL
    FROM fired AS f
    WHERE j.id = f.job_id AND j.id = ANY(:job_ids::uuid[])
    RETURNING
        f.id, f.job_id, f.scheduled_at, f.priority, f.max_retries, f.trace_id, f.span_id, j.version, j.tenant_id, j.depth
),

counted AS (
    UPDATE job_counters
    SET scheduled_count = scheduled_count + 1, slots_taken = slots_taken + 1, live = live + 1
    WHERE job_id = ANY(:job_ids::uuid[])
),

made AS (
    INSERT INTO executions (
        id, job_id, job_version, tenant_id, status, origin, scheduled_at, created_at, priority, available_at,
        dispatched_at, attempt, failures, max_retries, holds_slot, depth, trace_id, span_id, past_attempts, metadata
    )
    SELECT
        id, job_id, version, tenant_id, 'pending', 'schedule', scheduled_at, :now, priority,
        greatest(scheduled_at, :now), :now, 0, 0, max_retries, true, depth, trace_id, span_id, '[]', '{}'
    FROM moved
)

INSERT INTO open_executions (execution_id, job_id, dispatched_at)
SELECT id, job_id, :now::timestamptz FROM fired;

-- name: claim
-- Whoever does not get the row drops the message, so duplicate deliveries are harmless, and a row that somebody else
-- has locked is not waited for. A claim raises the attempt, which is the fence of every later write. What fired ahead of
-- its time starts at it, at most a look-ahead from now: the clock may have been set back meanwhile. A definition is told
-- with the first of its executions, and the time when the answer is made, from which its reader counts. It is a whole
-- transaction as long as nobody listens to starts; else it takes nothing, unless they are told (`is_told`) in the same.
WITH taken AS (
    UPDATE executions AS e
    SET
        status = 'running', attempt = e.attempt + 1, next_retry_at = NULL, redispatches = 0, worker_id = :worker_id,
        (started_at, lease_expires_at) = (
            SELECT
                start.at,
                start.at + make_interval(secs => coalesce(j.lock_timeout_seconds, :lock_timeout_seconds::integer))
            FROM
                jobs AS j,
                coalesce(:now::timestamptz, now()) AS moment (now),
                LATERAL (
                    SELECT CASE
                        WHEN e.dispatched_at < e.available_at AND e.available_at > moment.now
                        THEN least(e.available_at, moment.now + :look_ahead::interval)
                        ELSE moment.now
                    END
                ) AS start (at)
            WHERE j.id = e.job_id
        )
    WHERE
        e.id = ANY(ARRAY(
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
        -- with: had_begun
        e.id, e.job_id, e.tenant_id, e.origin, e.payload, e.attempt, e.failures, e.max_retries, e.scheduled_at,
        e.created_at, e.available_at, e.started_at, e.idempotency_key, e.correlation_id, e.event_id, e.depth, e.trace_id,
        e.span_id, e.trace_flags, e.tracestate
),

noted AS (
    INSERT INTO claims (id, worker_id, claimed_at, execution_ids)
    SELECT :claim_id, :worker_id, coalesce(:now::timestamptz, now()), array_agg(id)
    FROM taken
    HAVING count(*) > 0
),

settled AS (
    DELETE FROM claims
    WHERE id = ANY(ARRAY(SELECT id FROM claims WHERE id = ANY(:settled::uuid[]) FOR UPDATE SKIP LOCKED))
)

SELECT
    t.*,
    coalesce(:now::timestamptz, clock_timestamp()) AS claimed_at,
    CASE WHEN row_number() OVER (PARTITION BY t.job_id) = 1
        THEN (SELECT j.definition FROM jobs AS j WHERE j.id = t.job_id)
    END AS definition
FROM taken AS t;

-- name: claimed
-- For a worker that never heard what its claim came to.
SELECT
    -- with: had_begun
    e.id, e.job_id, e.tenant_id, e.origin, e.payload, e.attempt, e.failures, e.max_retries, e.scheduled_at,
    e.created_at, e.available_at, e.started_at, e.idempotency_key, e.correlation_id, e.event_id, e.depth, e.trace_id,
    e.span_id, e.trace_flags, e.tracestate, j.definition, coalesce(:now::timestamptz, clock_timestamp()) AS claimed_at
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

-- name: lock_accounts
-- The counters of the jobs whose executions these are, after the own rows of those jobs that may change with them: those
-- that are known to (`locked`), and those that look so without a lock, of which the last word is the domain's.
WITH concerned AS MATERIALIZED (
    SELECT j.id, j.exhausted OR coalesce(j.type = ANY(:types_at_stake::text[]), false) AS is_at_stake
    FROM jobs AS j
    WHERE j.id = ANY(ARRAY(SELECT DISTINCT e.job_id FROM executions AS e WHERE e.id = ANY(:ids::uuid[])))
),

held AS MATERIALIZED (
    SELECT id
    FROM jobs
    WHERE id = ANY(ARRAY(SELECT id FROM concerned WHERE is_at_stake UNION SELECT unnest(:locked::uuid[])))
    ORDER BY id
    FOR NO KEY UPDATE
)

SELECT
    c.job_id, c.executions_count, c.success_count, c.failure_count, c.consecutive_failures, c.duration_total_ms,
    c.scheduled_count, c.slots_taken, c.waiting, c.live, c.job_id = ANY(ARRAY(SELECT id FROM held)) AS is_locked
FROM job_counters AS c
WHERE c.job_id = ANY(ARRAY(SELECT id FROM concerned)) AND (SELECT count(*) FROM held) >= 0
ORDER BY c.job_id
FOR NO KEY UPDATE;

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
-- An end counts only for the attempt that still runs; slot and lease stay while the handler is not really gone. Answers
-- what counts of those that ended as they stood before, and whether anybody listens to facts. A column that says nothing
-- unusual comes empty.
WITH held AS MATERIALIZED (
    SELECT e.id, e.job_id, e.origin, e.scheduled_at, e.attempt, e.holds_slot, e.event_handler_id
    FROM executions AS e
    WHERE e.id = ANY(:ids::uuid[]) AND e.status || '' = 'running'
    ORDER BY e.id
    FOR NO KEY UPDATE
),

ended AS (
    UPDATE executions AS e
    SET
        status = coalesce(f.status, 'success'), has_failed = coalesce(f.status IN ('failed', 'timeout'), false),
        failures = coalesce(f.failures, 0), result = f.result, error = f.error, error_type = f.error_type, error_stack = f.error_stack,
        started_at = coalesce(f.started_at, e.started_at), completed_at = f.completed_at,
        duration_ms = coalesce(f.duration_ms, 0),
        past_attempts = coalesce(f.past_attempts, e.past_attempts),
        holds_slot = e.holds_slot AND NOT coalesce(f.releases_slot, true),
        lease_expires_at = CASE WHEN coalesce(f.releases_slot, true) THEN NULL ELSE e.lease_expires_at END
    FROM unnest(
        :ids::uuid[], :attempt::integer[], :status::text[], :failures::integer[], :result::json[], :error::text[],
        :error_type::text[], :error_stack::text[], :started_at::timestamptz[], :completed_at::timestamptz[],
        :duration_ms::bigint[], :past_attempts::json[], :releases_slot::boolean[]
    ) AS f (
        id, attempt, status, failures, result, error, error_type, error_stack, started_at, completed_at, duration_ms,
        past_attempts, releases_slot
    )
    WHERE e.id = f.id AND e.attempt = coalesce(f.attempt, 1) AND e.id = ANY(ARRAY(SELECT id FROM held))
    RETURNING e.id
),

closed AS (DELETE FROM open_executions WHERE execution_id = ANY(ARRAY(SELECT id FROM ended)))

SELECT
    held.id, held.job_id, held.origin, held.scheduled_at, held.holds_slot, held.event_handler_id,
    EXISTS(
        SELECT FROM event_listeners AS l
        WHERE l.expires_at IS NULL OR l.expires_at > coalesce(:now::timestamptz, now())
    ) AS is_heard
FROM held
WHERE held.id = ANY(ARRAY(SELECT id FROM ended));

-- name: finish_well
-- Good ends from which nothing follows: of jobs that nothing can end, without waiting work, made by no event, and told to
-- nobody. Jobs are asked once their counters are locked, by a function with a snapshot of its own: that of the statement
-- is older than what a fire, which had those counters, has made of its job. `JobCounters` has the arithmetic. A join of
-- what was held with what ended would be a nested loop; `IN` that is not made a join is hashed.
WITH free AS MATERIALIZED (
    SELECT c.job_id
    FROM job_counters AS c
    WHERE
        c.job_id = ANY(ARRAY(SELECT DISTINCT e.job_id FROM executions AS e WHERE e.id = ANY(:ids::uuid[])))
        AND c.waiting = 0
    ORDER BY c.job_id
    FOR NO KEY UPDATE
),

quiet AS MATERIALIZED (
    SELECT job_id
    FROM not_at_stake(ARRAY(SELECT job_id FROM free), :types_at_stake::text[]) AS j (job_id)
    WHERE NOT EXISTS (
        SELECT FROM event_listeners AS l
        WHERE l.expires_at IS NULL OR l.expires_at > coalesce(:now::timestamptz, now())
    )
),

held AS MATERIALIZED (
    SELECT e.id, e.job_id, e.holds_slot
    FROM executions AS e
    WHERE
        e.id = ANY(:ids::uuid[]) AND e.status || '' = 'running' AND e.event_handler_id IS NULL
        AND e.job_id = ANY(ARRAY(SELECT job_id FROM quiet))
    ORDER BY e.id
    FOR NO KEY UPDATE
),

-- with: ended_well

counted AS (
    UPDATE job_counters AS c
    SET
        executions_count = c.executions_count + s.ends, success_count = c.success_count + s.ends,
        consecutive_failures = 0, duration_total_ms = c.duration_total_ms + s.duration_ms, live = c.live - s.ends,
        slots_taken = c.slots_taken - s.slots
    FROM (
        SELECT
            job_id,
            sum(ends)::integer AS ends,
            sum(duration_ms)::bigint AS duration_ms,
            sum(slots)::integer AS slots
        FROM (
            SELECT job_id, 1 AS ends, duration_ms, 0 AS slots FROM ended
            UNION ALL
            SELECT job_id, 0, 0, 1 FROM held WHERE holds_slot AND (id IN (SELECT id FROM ended)) IS TRUE
        ) AS part
        GROUP BY job_id
    ) AS s
    WHERE c.job_id = s.job_id AND c.job_id = ANY(ARRAY(SELECT job_id FROM ended))
)

SELECT id FROM ended;

-- name: finish_last
-- Good ends with which a job of one time is completed: the last of what it had to run, by its schedule or a retry of that,
-- made by no event and told to nobody. Words `with_outcome` and `conclude` of the domain's plan, and its `JobCounters`.
-- Each row is judged as it stands once it is locked. What is joined to `ended` is looked up row by row, since the server
-- takes that for one row; to name the ids again would have it go through all of them for each.
WITH ending AS MATERIALIZED (
    SELECT j.id, j.tenant_id, j.status, j.version, j.last_nominal
    FROM jobs AS j
    WHERE
        j.id = ANY(ARRAY(SELECT e.job_id FROM executions AS e WHERE e.id = ANY(:ids::uuid[])))
        AND j.exhausted AND j.type = 'one_time' AND j.status IN ('active', 'paused') AND j.deleted_at IS NULL
        AND NOT EXISTS (
            SELECT FROM event_listeners AS l
            WHERE l.expires_at IS NULL OR l.expires_at > coalesce(:now::timestamptz, now())
        )
    ORDER BY j.id
    FOR NO KEY UPDATE
),

alone AS MATERIALIZED (
    SELECT c.job_id
    FROM job_counters AS c
    WHERE c.job_id = ANY(ARRAY(SELECT id FROM ending)) AND c.live = 1
    ORDER BY c.job_id
    FOR NO KEY UPDATE
),

held AS MATERIALIZED (
    SELECT e.id, e.job_id, e.holds_slot
    FROM executions AS e
    WHERE
        e.id = ANY(:ids::uuid[]) AND e.status || '' = 'running' AND e.event_handler_id IS NULL
        AND e.origin IN ('schedule', 'retry')
        AND (e.job_id IN (SELECT job_id FROM alone)) IS TRUE
        AND ((e.job_id, e.scheduled_at) IN (SELECT id, last_nominal FROM ending)) IS TRUE
    ORDER BY e.id
    FOR NO KEY UPDATE
),

-- with: ended_well

counted AS (
    UPDATE job_counters AS c
    SET
        executions_count = c.executions_count + 1, success_count = c.success_count + 1, consecutive_failures = 0,
        duration_total_ms = c.duration_total_ms + ended.duration_ms, live = 0,
        slots_taken = c.slots_taken - (ended.id IN (SELECT id FROM held WHERE holds_slot))::integer
    FROM ended
    WHERE c.job_id = ended.job_id
),

completed AS (
    UPDATE jobs
    SET
        status = :completed::text, outcome = 'success', next_run = NULL, version = version + 1,
        updated_at = coalesce(:now::timestamptz, now()), completed_at = coalesce(:now::timestamptz, now()),
        cancelled_at = NULL
    WHERE id = ANY(ARRAY(SELECT job_id FROM ended))
),

recorded AS (
    INSERT INTO job_versions (job_id, tenant_id, version, changed_at, changed_by, reason, before, after)
    SELECT
        j.id, j.tenant_id, j.version + 1, coalesce(:now::timestamptz, now()), NULL, :reason::text,
        json_build_object('status', j.status, 'deleted', false),
        json_build_object('status', :completed::text, 'deleted', false)
    FROM ending AS j
    WHERE (j.id IN (SELECT job_id FROM ended)) IS TRUE
)

SELECT id FROM ended;

-- name: hand_back
-- Another attempt will follow in the same slot, of executions that are locked and judged; what went wrong stays to be
-- seen while it waits.
WITH returned AS (
    UPDATE executions AS e
    SET
        status = 'pending', failures = f.failures, error = f.error, error_type = f.error_type,
        error_stack = f.error_stack, started_at = f.started_at,
        past_attempts = coalesce(f.past_attempts, e.past_attempts), available_at = f.available_at, next_retry_at = f.next_retry_at,
        dispatched_at = f.dispatched_at, redispatches = 0, worker_id = NULL, lease_expires_at = NULL
    FROM unnest(
        :id::uuid[], :failures::integer[], :error::text[], :error_type::text[], :error_stack::text[],
        :started_at::timestamptz[], :past_attempts::json[], :available_at::timestamptz[],
        :next_retry_at::timestamptz[], :dispatched_at::timestamptz[]
    ) AS f (
        id, failures, error, error_type, error_stack, started_at, past_attempts, available_at, next_retry_at,
        dispatched_at
    )
    WHERE e.id = f.id AND e.id = ANY(:id::uuid[])
    RETURNING e.id, e.dispatched_at, e.available_at
)

UPDATE open_executions AS o
SET
    dispatched_at = r.dispatched_at,
    wakes_at = CASE WHEN r.dispatched_at IS NULL THEN r.available_at END
FROM returned AS r
WHERE o.execution_id = r.id AND o.execution_id = ANY(:id::uuid[]);

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
-- was set back, so that its lease looks longer than it is. There are hardly more rows to look at than handlers running,
-- and what claims that were made before `since` have left behind is passed over (`Frontier`).
SELECT
    e.id, e.attempt, e.lease_expires_at, coalesce(j.lock_timeout_seconds, :lock_timeout_seconds) AS lock_timeout_seconds
FROM executions AS e
JOIN jobs AS j ON j.id = e.job_id
WHERE
    e.id = ANY(ARRAY(SELECT DISTINCT unnest(c.execution_ids) FROM claims AS c WHERE c.claimed_at >= :since))
    AND e.lease_expires_at IS NOT NULL
    AND (e.lease_expires_at <= :now OR e.started_at > :now::timestamptz + :look_ahead::interval)
ORDER BY e.lease_expires_at, e.id
LIMIT :limit;

-- name: first_claimed
-- Before when no claim is left; worded, as is `first_dispatched`, so that the first row found is the last one read.
SELECT (
    SELECT claimed_at FROM claims WHERE claimed_at >= :since ORDER BY claimed_at LIMIT 1
) AS claimed_at;

-- name: settle_claims
-- What is not leased is so under no claim before, and a later one is noted with the lease that it gives: so whatever
-- of a claim one statement sees unleased can be struck from it, whoever claims meanwhile. Claims that shrink only a
-- little stay as they are.
WITH noted AS (
    SELECT id, execution_ids FROM claims ORDER BY id FOR UPDATE SKIP LOCKED
),

leased AS MATERIALIZED (
    SELECT e.id
    FROM executions AS e
    WHERE
        e.id = ANY(ARRAY(SELECT DISTINCT unnest(execution_ids) FROM noted)) AND e.lease_expires_at IS NOT NULL
),

left_over AS MATERIALIZED (
    SELECT noted.id, count(*) AS before, array_agg(leased.id) AS execution_ids, count(leased.id) AS after
    FROM noted
    CROSS JOIN LATERAL unnest(noted.execution_ids) AS held (id)
    LEFT JOIN leased ON leased.id = held.id
    GROUP BY noted.id
),

settled AS (DELETE FROM claims WHERE id = ANY(ARRAY(SELECT id FROM left_over WHERE after = 0)))

UPDATE claims AS c
SET execution_ids = array_remove(l.execution_ids, NULL)
FROM left_over AS l
WHERE c.id = l.id AND l.after > 0 AND l.after * 2 <= l.before;

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
        e.lease_expires_at <= coalesce(:now::timestamptz, now())
        OR e.started_at > coalesce(:now::timestamptz, now()) + :look_ahead::interval
    )
ORDER BY e.lease_expires_at, e.id;

-- name: mark_ready
-- Retries whose delay has passed, and work handed back for later. What is marked is dispatched after the commit; a
-- crash in between is a lost dispatch, which is repeated. An execution is locked before its row among the open ones is.
WITH marked AS (
    UPDATE executions AS e
    SET dispatched_at = :now
    WHERE
        e.id = ANY(ARRAY(
            SELECT r.id
            FROM executions AS r
            WHERE
                r.id = ANY(ARRAY(
                    SELECT o.execution_id
                    FROM open_executions AS o
                    WHERE o.wakes_at IS NOT NULL AND o.wakes_at <= :now
                    ORDER BY o.wakes_at, o.execution_id
                    LIMIT :limit
                ))
                AND r.status || '' = 'pending' AND r.dispatched_at IS NULL AND r.available_at <= :now
            ORDER BY r.id
            FOR NO KEY UPDATE SKIP LOCKED
        ))
    RETURNING e.id, e.available_at
),

woken AS (
    UPDATE open_executions
    SET dispatched_at = :now, wakes_at = NULL
    WHERE execution_id = ANY(ARRAY(SELECT id FROM marked))
)

SELECT id, available_at FROM marked;

-- name: next_available
-- Until when the sweeper may sleep.
SELECT min(wakes_at) AS next_available_at FROM open_executions WHERE wakes_at IS NOT NULL;

-- name: undelivered
-- The patience doubles with each repeat, so that a backlog is no storm of repeats. What was dispatched in the future
-- was so before the clock was set back, and is looked for apart, so that neither search reads what is recent. Both walk
-- along the index until there is enough, passing over the little that runs: to the planner a limit that it does not know
-- is a small part, whatever it thinks of the conditions; it would read and sort everything for the sake of few. The
-- capability is worded as the domain does.
WITH named AS NOT MATERIALIZED (
    SELECT
        id,
        CASE handler_type WHEN 'function' THEN 'function/' || handler_name ELSE handler_type END AS capability,
        definition
    FROM jobs
),

overdue AS (
    SELECT e.id, o.dispatched_at, e.priority, j.definition
    FROM (
        SELECT execution_id, job_id, dispatched_at
        FROM open_executions
        WHERE
            dispatched_at IS NOT NULL AND dispatched_at <= :now::timestamptz - :grace::interval
            AND (dispatched_at, execution_id) > (:after_at::timestamptz, :after_id::uuid)
        ORDER BY dispatched_at, execution_id
        LIMIT (SELECT 9223372036854775807)
    ) AS o
    CROSS JOIN LATERAL (
        SELECT r.id, r.priority, r.redispatches, r.status FROM executions AS r WHERE r.id = o.execution_id OFFSET 0
    ) AS e
    CROSS JOIN LATERAL (SELECT n.capability, n.definition FROM named AS n WHERE n.id = o.job_id OFFSET 0) AS j
    WHERE
        e.status = 'pending'
        AND o.dispatched_at + :grace::interval * (1 << least(e.redispatches, 6)) <= :now::timestamptz
        AND (:capabilities::text[] IS NULL OR j.capability = ANY(:capabilities))
    ORDER BY o.dispatched_at, o.execution_id
    LIMIT :limit
),

ahead AS (
    SELECT e.id, o.dispatched_at, e.priority, j.definition
    FROM (
        SELECT execution_id, job_id, dispatched_at
        FROM open_executions
        WHERE
            dispatched_at IS NOT NULL AND dispatched_at > :now::timestamptz
            AND (dispatched_at, execution_id) > (:after_at::timestamptz, :after_id::uuid)
        ORDER BY dispatched_at, execution_id
        LIMIT (SELECT 9223372036854775807)
    ) AS o
    CROSS JOIN LATERAL (
        SELECT r.id, r.priority, r.status FROM executions AS r WHERE r.id = o.execution_id OFFSET 0
    ) AS e
    CROSS JOIN LATERAL (SELECT n.capability, n.definition FROM named AS n WHERE n.id = o.job_id OFFSET 0) AS j
    WHERE e.status = 'pending' AND (:capabilities::text[] IS NULL OR j.capability = ANY(:capabilities))
    ORDER BY o.dispatched_at, o.execution_id
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
    SELECT o.dispatched_at
    FROM open_executions AS o
    CROSS JOIN LATERAL (SELECT r.status FROM executions AS r WHERE r.id = o.execution_id OFFSET 0) AS e
    WHERE
        array_position('{pending}', e.status) IS NOT NULL AND o.dispatched_at IS NOT NULL AND o.dispatched_at >= :since
    ORDER BY o.dispatched_at
    LIMIT 1
) AS dispatched_at;

-- name: redispatch
-- Moving dispatched_at is taking the right to repeat: of ten sweepers that saw the same value, one moves it.
WITH moved AS (
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
    RETURNING e.id
),

noted AS (
    UPDATE open_executions SET dispatched_at = :now WHERE execution_id = ANY(ARRAY(SELECT id FROM moved))
)

SELECT id FROM moved;

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
WHERE e.id = m.id AND e.id = ANY(:id::uuid[]);

-- name: past
-- A stretch of executions, oldest id first, and what of it may go: ended, released, and not among the newest of its job,
-- the last of which is sought for each. A job that was deleted long ago keeps none.
SELECT
    s.id,
    s.created_at < :before AS is_old,
    s.created_at < :before AND s.status NOT IN ('pending', 'running') AND s.lease_expires_at IS NULL
    AND (coalesce(j.deleted_at < :before, false) OR coalesce(s.id <= boundary.id, false)) AS may_go
FROM (
    SELECT id, job_id, created_at, status, lease_expires_at
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
WITH removed AS (
    DELETE FROM jobs
    WHERE id = ANY(ARRAY(
        SELECT j.id
        FROM jobs AS j
        WHERE j.deleted_at < :before AND NOT EXISTS (SELECT 1 FROM executions AS e WHERE e.job_id = j.id)
        ORDER BY j.deleted_at
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING id
),

forgotten AS (DELETE FROM job_versions WHERE job_id = ANY(ARRAY(SELECT id FROM removed)))

SELECT id FROM removed;
