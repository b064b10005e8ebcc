-- name: claimable
-- Whoever does not get the row drops the message, so duplicate deliveries are harmless.
SELECT
    json_group_array(
        json_array(
            e.rowid, e.dispatched_at, e.id, e.job_id, e.tenant_id, e.payload, e.attempt, e.failures, e.max_retries,
            e.scheduled_at, NULL, e.created_at, e.available_at, e.origin, e.idempotency_key, e.correlation_id,
            e.event_id, e.depth, e.trace_id, e.span_id, e.trace_flags, e.tracestate,
            -- with: had_begun
        )
    ) AS claimable
FROM json_each(:ids) AS wanted
CROSS JOIN executions AS e ON e.id = wanted.value
WHERE e.status = 'pending' AND e.dispatched_at IS NOT NULL;

-- name: claim
-- A claim raises the attempt, which is the fence of every later write.
-- :taken has the instant of its start by rowid, :lease is how long each may run from there.
UPDATE executions
SET
    status = 'running', attempt = attempt + 1, started_at = taken.value, next_retry_at = NULL, redispatches = 0,
    worker_id = :worker_id, lease_expires_at = taken.value + :lease
FROM json_each(:taken) AS taken
WHERE executions.rowid = cast(taken.key AS INTEGER) AND status = 'pending';

-- name: attempts
-- What a node needs in order to run and settle what it holds, in the order of the ids.
SELECT
    e.id, e.job_id, e.tenant_id, e.status, e.payload, e.attempt, e.failures, e.max_retries, e.scheduled_at,
    e.created_at, e.started_at, e.lease_expires_at, e.idempotency_key, e.correlation_id, e.event_id, e.trace_id,
    e.span_id, e.parent_span_id, e.trace_flags, e.tracestate, e.worker_id, e.origin, e.available_at, e.depth,
    j.definition,
    -- with: had_begun
    AS had_begun
FROM json_each(:ids) AS wanted
CROSS JOIN executions AS e ON e.id = wanted.value
CROSS JOIN jobs AS j ON j.id = e.job_id
ORDER BY wanted.key;

-- name: renew
-- One statement for all that a node holds; what has ended keeps its slot only under a live lease.
UPDATE executions
SET lease_expires_at = :now + json_extract(hold.value, '$[2]')
FROM json_each(:holds) AS hold
WHERE
    executions.id = json_extract(hold.value, '$[0]') AND attempt = json_extract(hold.value, '$[1]')
    AND worker_id = :worker_id AND +lease_expires_at IS NOT NULL
RETURNING executions.id, attempt, status;

-- name: still_running
-- Which holds are what they were.
SELECT e.id, e.attempt
FROM json_each(:holds) AS hold
CROSS JOIN executions AS e ON e.id = json_extract(hold.value, '$[0]')
WHERE e.attempt = json_extract(hold.value, '$[1]') AND e.status = 'running';

-- name: held
-- What a finish is held against: a worker that lost its lease must not overwrite what its successor did.
SELECT
    json_group_array(
        json_array(
            e.rowid, e.id, e.job_id, e.tenant_id, e.origin, e.scheduled_at, e.attempt, e.failures, e.holds_slot,
            e.worker_id, e.lease_expires_at, e.event_handler_id
        )
    ) AS held
FROM json_each(:ids) AS wanted
CROSS JOIN executions AS e ON e.id = wanted.value
WHERE e.status = 'running';

-- name: remember_attempt
-- An attempt that ended without ending its execution.
-- ?1 the attempt, ?2 rowid
UPDATE executions SET past_attempts = json_insert(past_attempts, '$[#]', json(?1)) WHERE rowid = ?2;

-- name: finish_well
-- What most attempts come to, all of a batch in one statement. Each still holds its row, as the transaction has read.
-- Each of :ended is [rowid, started_at or null, completed_at, duration_ms, result].
UPDATE executions
SET
    status = 'success', error = NULL, error_type = NULL, error_stack = NULL,
    started_at = ifnull(json_extract(ended.value, '$[1]'), started_at),
    completed_at = json_extract(ended.value, '$[2]'), duration_ms = json_extract(ended.value, '$[3]'),
    result = json_extract(ended.value, '$[4]'), holds_slot = 0, lease_expires_at = NULL
FROM json_each(:ended) AS ended
WHERE executions.rowid = json_extract(ended.value, '$[0]') AND status = 'running';

-- name: completing
-- Jobs of one time that have nothing to fire, and nothing left but one execution; and of which nominal time it must be for
-- them to be over with it.
SELECT json_group_array(json_array(j.rowid, j.id, j.last_nominal)) AS completing
FROM json_each(:ids) AS wanted
CROSS JOIN jobs AS j ON j.id = wanted.value
CROSS JOIN job_counters AS c ON c.job_id = j.id
WHERE
    j.exhausted AND json_extract(j.definition, '$.type') = 'one_time' AND j.status IN ('active', 'paused')
    AND j.next_run IS NULL AND j.cancelled_at IS NULL AND j.deleted_at IS NULL AND c.live = 1;

-- name: count_last
-- The good end of the one execution that a job had left.
-- Each of :ended is [job_id, duration_ms, slots].
UPDATE job_counters
SET
    executions_count = executions_count + 1, success_count = success_count + 1, consecutive_failures = 0,
    duration_total_ms = duration_total_ms + json_extract(ended.value, '$[1]'), live = 0,
    slots_taken = slots_taken - json_extract(ended.value, '$[2]')
FROM json_each(:ended) AS ended
WHERE job_id = json_extract(ended.value, '$[0]');

-- name: record_last
-- The versions that jobs, by rowid, are completed with: they keep their definitions.
INSERT INTO job_versions (job_id, tenant_id, version, changed_at, changed_by, reason, before, after)
SELECT
    j.id, j.tenant_id, j.version + 1, :now, NULL, :reason,
    json_object('status', j.status, 'deleted', json('false')),
    json_object('status', :completed, 'deleted', json('false'))
FROM json_each(:jobs) AS ended
CROSS JOIN jobs AS j ON j.rowid = ended.value;

-- name: complete
-- By rowid.
UPDATE jobs
SET status = :completed, outcome = 'success', version = version + 1, updated_at = :now, completed_at = :now
WHERE rowid IN (SELECT value FROM json_each(:jobs));

-- name: finish
-- An end; slot and lease stay while the handler is not really gone.
-- ?1 status, ?2 failures, ?3 error, ?4 error_type, ?5 error_stack, ?6 started_at or null, ?7 result, ?8 completed_at,
-- ?9 duration_ms, ?10 whether it releases its slot, ?11 rowid, ?12 attempt
UPDATE executions
SET
    status = ?1, failures = ?2, error = ?3, error_type = ?4, error_stack = ?5, started_at = ifnull(?6, started_at),
    result = ?7, completed_at = ?8, duration_ms = ?9,
    holds_slot = CASE WHEN ?10 THEN 0 ELSE holds_slot END,
    lease_expires_at = CASE WHEN ?10 THEN NULL ELSE lease_expires_at END
WHERE rowid = ?11 AND attempt = ?12 AND status = 'running';

-- name: hand_back
-- Another attempt will follow in the same slot; what went wrong stays to be seen while it waits.
-- ?1 failures, ?2 error, ?3 error_type, ?4 error_stack, ?5 started_at or null, ?6 available_at, ?7 next_retry_at,
-- ?8 dispatched_at, ?9 rowid, ?10 attempt
UPDATE executions
SET
    status = 'pending', failures = ?1, error = ?2, error_type = ?3, error_stack = ?4,
    started_at = ?5, available_at = ?6, next_retry_at = ?7, dispatched_at = ?8, redispatches = 0,
    worker_id = NULL, lease_expires_at = NULL
WHERE rowid = ?9 AND attempt = ?10 AND status = 'running';

-- name: unreleased
-- Ended executions that these holds still keep a slot for.
SELECT e.id, e.job_id, e.holds_slot
FROM json_each(:holds) AS hold
CROSS JOIN executions AS e ON e.id = json_extract(hold.value, '$[0]')
WHERE
    e.attempt = json_extract(hold.value, '$[1]') AND e.lease_expires_at IS NOT NULL
    AND e.status NOT IN ('pending', 'running');

-- name: release
-- Their handlers are gone.
UPDATE executions SET holds_slot = 0, lease_expires_at = NULL WHERE id IN (SELECT value FROM json_each(:ids));

-- name: lapsed
-- Oldest first; whether the node is dead is for the sweeper to say. What started further ahead than work is claimed did
-- so before the clock was set back, so that its lease looks longer than it is.
SELECT
    e.id, e.attempt, e.lease_expires_at, ifnull(j.lock_timeout_seconds, :lock_timeout_seconds) AS lock_timeout_seconds
FROM executions AS e
CROSS JOIN described_jobs AS j ON j.id = e.job_id
WHERE e.lease_expires_at IS NOT NULL AND (e.lease_expires_at <= :now OR e.started_at > :now + :ahead)
ORDER BY e.lease_expires_at, e.id
LIMIT :limit;

-- name: expired
-- Which of the leases that were seen so still are.
SELECT e.id
FROM json_each(:holds) AS hold
CROSS JOIN executions AS e ON e.id = json_extract(hold.value, '$[0]')
WHERE
    e.attempt = json_extract(hold.value, '$[1]') AND e.lease_expires_at IS NOT NULL
    AND (e.lease_expires_at <= :now OR e.started_at > :now + :ahead)
ORDER BY e.lease_expires_at, e.id;

-- name: ready
-- Retries whose delay has passed, and work handed back for later.
SELECT id FROM executions INDEXED BY executions_ready
WHERE status = 'pending' AND dispatched_at IS NULL AND available_at IS NOT NULL AND available_at <= :now
ORDER BY available_at, id
LIMIT :limit;

-- name: mark_dispatched
-- What is marked is dispatched after the commit; a crash in between is a lost dispatch, which is repeated.
UPDATE executions SET dispatched_at = :now WHERE id IN (SELECT value FROM json_each(:ids));

-- name: next_available
-- Until when the sweeper may sleep.
SELECT min(available_at) AS next_available_at FROM executions INDEXED BY executions_ready
WHERE status = 'pending' AND dispatched_at IS NULL AND available_at IS NOT NULL;

-- name: undelivered
-- Of what was dispatched later than one instant and not later than another, so that neither is walked through. The
-- patience doubles with each repeat, so that a backlog is no storm of repeats. What was dispatched in the future was so
-- before the clock was set back. The capability is worded as the domain does.
SELECT
    json_group_array(
        json_array(stale.id, stale.job_id, cast(stale.priority AS INTEGER), stale.dispatched_at)
    ) AS undelivered
FROM (
    SELECT e.id, e.job_id, e.priority, e.dispatched_at
    FROM executions AS e
    CROSS JOIN described_jobs AS j ON j.id = e.job_id
    WHERE
        e.status = 'pending' AND e.available_at IS NOT NULL AND e.dispatched_at IS NOT NULL
        AND e.dispatched_at > :later_than AND e.dispatched_at <= :until
        AND (e.dispatched_at + (:grace << min(e.redispatches, 6)) <= :now OR e.dispatched_at > :now)
        AND (e.dispatched_at, e.id) > (:after_at, :after_id)
        AND (
            :capabilities IS NULL
            OR CASE json_extract(j.definition, '$.handler_type')
                WHEN 'function' THEN 'function/' || j.handler_name ELSE json_extract(j.definition, '$.handler_type')
            END IN (SELECT value FROM json_each(:capabilities))
        )
    ORDER BY e.dispatched_at, e.id
    LIMIT :limit
) AS stale;

-- name: unmoved
-- Which dispatches nobody has repeated since they were seen: of ten sweepers that saw the same instant, one moves it, in the
-- transaction that finds it here. :seen has the instant of each by its id.
SELECT json_group_array(json_array(e.rowid, e.id, e.job_id, cast(e.priority AS INTEGER))) AS unmoved
FROM json_each(:seen) AS seen
CROSS JOIN executions AS e ON e.id = seen.key
WHERE e.dispatched_at = seen.value AND e.status = 'pending';

-- name: redispatch
-- Moving dispatched_at is taking the right to repeat. By rowid.
UPDATE executions
SET dispatched_at = :now, redispatches = redispatches + 1
WHERE rowid IN (SELECT value FROM json_each(:taken));

-- name: append_log
-- A line that comes twice stays as it was; one whose execution retention has removed is dropped.
INSERT INTO execution_logs (execution_id, attempt, sequence, logged_at, level, message, fields)
SELECT :execution_id, :attempt, :sequence, :logged_at, :level, :message, :fields
WHERE EXISTS (SELECT 1 FROM executions WHERE id = :execution_id)
ON CONFLICT DO NOTHING;

-- name: report
-- Progress is shown only for the attempt that makes it.
UPDATE executions
SET metadata = json_set(metadata, '$.progress', json(:progress))
WHERE id = :id AND attempt = :attempt AND status = 'running' AND json_type(metadata) = 'object';

-- name: past
-- A stretch of executions, oldest id first, and what of it may go: ended, released, and not among the newest of its job,
-- the last of which is sought for each. A job that was deleted long ago keeps none.
SELECT
    s.id,
    s.created_at < :before AS is_old,
    s.created_at < :before AND s.status NOT IN ('pending', 'running') AND s.lease_expires_at IS NULL
    AND (
        ifnull(j.deleted_at < :before, 0)
        OR s.id <= (SELECT n.id FROM executions AS n WHERE n.job_id = s.job_id ORDER BY n.id DESC LIMIT 1 OFFSET :newest)
    ) AS may_go
FROM (
    SELECT id, job_id, created_at, status, lease_expires_at
    FROM executions
    WHERE id > :after
    ORDER BY id
    LIMIT :limit
) AS s
CROSS JOIN jobs AS j ON j.id = s.job_id
ORDER BY s.id;

-- name: remove_executions
-- Their logs go with them; what another sweeper removed meanwhile is not counted twice.
DELETE FROM executions WHERE id IN (SELECT value FROM json_each(:ids)) RETURNING id;

-- name: remove_jobs
-- Deleted jobs that the ledger no longer needs; their versions and counters go with them.
DELETE FROM jobs
WHERE id IN (
    SELECT j.id FROM jobs AS j
    WHERE j.deleted_at < :before AND NOT EXISTS (SELECT 1 FROM executions AS e WHERE e.job_id = j.id)
    ORDER BY j.deleted_at
    LIMIT :limit
)
RETURNING id;
