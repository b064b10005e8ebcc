-- name: known_events
-- Of each [id, tenant, idempotency key] whether its event is there already, by its id first.
SELECT wanted.key AS place, ifnull(same.id, keyed.id) AS id
FROM json_each(:events) AS wanted
LEFT JOIN events AS same ON same.id = json_extract(wanted.value, '$[0]')
LEFT JOIN events AS keyed
    ON keyed.tenant_id = json_extract(wanted.value, '$[1]') AND keyed.idempotency_key = json_extract(wanted.value, '$[2]')
WHERE same.id IS NOT NULL OR keyed.id IS NOT NULL;

-- name: events_by_ids
-- The one place where events are read, in the order of the ids.
SELECT
    e.id, e.tenant_id, e.name, e.source, e.subject, e.origin, e.idempotency_key, e.occurred_at, e.received_at, e.depth,
    e.cause, e.correlation_id, e.trace_id, e.span_id, e.parent_span_id, e.trace_flags, e.tracestate, e.attributes,
    e.data, e.impact
FROM json_each(:ids) AS wanted
CROSS JOIN events AS e ON e.id = wanted.value
ORDER BY wanted.key;

-- name: insert_event
-- Repetitions are told apart before; the keys of the table are the guard against being wrong about it.
INSERT INTO events (
    id, tenant_id, name, source, subject, origin, idempotency_key, occurred_at, received_at, depth, cause,
    correlation_id, trace_id, span_id, parent_span_id, trace_flags, tracestate, matched, attributes, data, impact
)
VALUES (
    :id, :tenant_id, :name, :source, :subject, :origin, :idempotency_key, :occurred_at, :received_at, :depth, :cause,
    :correlation_id, :trace_id, :span_id, :parent_span_id, :trace_flags, :tracestate, :matched, :attributes, :data,
    :impact
);

-- name: save_impact
-- All that ever changes about an event.
UPDATE events SET matched = :matched, impact = :impact WHERE id = :id;

-- name: keyed_jobs
-- Who has each [tenant, handler_name, key], ended or not.
SELECT wanted.key AS place, j.id
FROM json_each(:keys) AS wanted
CROSS JOIN described_jobs AS j
    ON
        j.tenant_id = json_extract(wanted.value, '$[0]') AND j.handler_name = json_extract(wanted.value, '$[1]')
        AND j.key = json_extract(wanted.value, '$[2]')
WHERE j.key IS NOT NULL AND j.status <> 'cancelled' AND j.deleted_at IS NULL;

-- name: jobs_to_cancel_by_key
-- Which live jobs each [tenant, key, tags] means that names a key.
SELECT wanted.key AS place, j.id
FROM json_each(:cancels) AS wanted
CROSS JOIN described_jobs AS j
    ON j.tenant_id = json_extract(wanted.value, '$[0]') AND j.key = json_extract(wanted.value, '$[1]')
WHERE
    j.key IS NOT NULL AND j.deleted_at IS NULL AND j.status IN ('pending', 'active', 'paused')
    AND NOT EXISTS (
        SELECT value FROM json_each(wanted.value, '$[2]')
        EXCEPT
        SELECT value FROM json_each(j.definition, '$.tags')
    )
ORDER BY wanted.key, j.id;

-- name: jobs_to_cancel_by_tags
-- The same for those that name tags alone, which walks through the live jobs of their tenants.
SELECT wanted.key AS place, j.id
FROM json_each(:cancels) AS wanted
CROSS JOIN jobs AS j ON j.tenant_id = json_extract(wanted.value, '$[0]')
WHERE
    json_extract(wanted.value, '$[1]') IS NULL AND json_array_length(wanted.value, '$[2]') > 0
    AND j.deleted_at IS NULL AND j.status IN ('pending', 'active', 'paused')
    AND NOT EXISTS (
        SELECT value FROM json_each(wanted.value, '$[2]')
        EXCEPT
        SELECT value FROM json_each(j.definition, '$.tags')
    )
ORDER BY wanted.key, j.id;

-- name: flows
-- What is remembered of each [handler, key], with its open gathering.
SELECT
    f.handler_id, f.flow_key, f.seen_until, f.rate_limit_at, f.throttle_at,
    g.id, g.event_ids, g.first_at, g.due_at, g.superseded
FROM json_each(:keys) AS wanted
CROSS JOIN event_flows AS f
    ON f.handler_id = json_extract(wanted.value, '$[0]') AND f.flow_key = json_extract(wanted.value, '$[1]')
LEFT JOIN event_gatherings AS g ON g.id = f.gathering_id;

-- name: save_flow
-- The rules of the limits are the domain's, so that rows are written whole.
INSERT INTO event_flows (handler_id, flow_key, seen_until, rate_limit_at, throttle_at, gathering_id, expires_at)
VALUES (:handler_id, :flow_key, :seen_until, :rate_limit_at, :throttle_at, :gathering_id, :expires_at)
ON CONFLICT (handler_id, flow_key) DO UPDATE
SET
    seen_until = excluded.seen_until, rate_limit_at = excluded.rate_limit_at, throttle_at = excluded.throttle_at,
    gathering_id = excluded.gathering_id, expires_at = excluded.expires_at;

-- name: save_gathering
-- An open gathering grows with each event of its key.
INSERT INTO event_gatherings (id, handler_id, flow_key, tenant_id, event_ids, first_at, due_at, superseded)
VALUES (:id, :handler_id, :flow_key, :tenant_id, :event_ids, :first_at, :due_at, :superseded)
ON CONFLICT (id) DO UPDATE
SET event_ids = excluded.event_ids, due_at = excluded.due_at, superseded = excluded.superseded;

-- name: gatherings_by_ids
-- How gatherings stand that somebody is about to close.
SELECT g.id, g.handler_id, g.flow_key, g.event_ids, g.first_at, g.due_at, g.superseded
FROM json_each(:ids) AS wanted
CROSS JOIN event_gatherings AS g ON g.id = wanted.value
ORDER BY wanted.key;

-- name: close_flow
-- The key goes on without what was its open gathering.
UPDATE event_flows SET gathering_id = NULL
WHERE handler_id = :handler_id AND flow_key = :flow_key AND gathering_id = :id;

-- name: remove_gatherings
-- They are acted upon, or never will be.
DELETE FROM event_gatherings WHERE id IN (SELECT value FROM json_each(:ids));

-- name: gatherings_in_vain
-- Those that are due while their handler is disabled.
SELECT g.id, g.handler_id, g.flow_key
FROM event_gatherings AS g
CROSS JOIN event_handlers AS h ON h.id = g.handler_id
WHERE g.due_at <= :now AND NOT h.enabled;

-- name: due_gatherings
-- Earliest first from behind one on, with how much data the events of each have, and one more than is asked
-- for: it tells when the next is due.
SELECT
    g.id, g.handler_id, g.flow_key, g.event_ids, g.first_at, g.due_at, g.superseded,
    (
        SELECT ifnull(sum(e.data_bytes), 0)
        FROM json_each(g.event_ids) AS held
        CROSS JOIN events AS e ON e.id = held.value
    ) AS data_bytes
FROM event_gatherings AS g
WHERE (g.due_at, g.id) > (:due_at, :id)
ORDER BY g.due_at, g.id
LIMIT :limit;

-- name: matching_events
-- One row with the total and the ids of a page, both by the index that has them in order.
WITH matching AS NOT MATERIALIZED (
    SELECT id, received_at
    FROM events
    WHERE
        tenant_id = :tenant_id
        AND received_at >= :received_after AND received_at <= :received_before
        AND (:name IS NULL OR name IN (SELECT value FROM json_each(:name)))
        AND (:name_prefix IS NULL OR substr(name, 1, length(:name_prefix)) = :name_prefix)
        AND (:source IS NULL OR source IN (SELECT value FROM json_each(:source)))
        AND (:subject IS NULL OR subject IN (SELECT value FROM json_each(:subject)))
        AND (:matched IS NULL OR (matched > 0) = :matched)
),

page AS (
    SELECT id
    FROM matching
    WHERE :cursor_id IS NULL OR (received_at, id) < (:cursor_value, :cursor_id)
    ORDER BY received_at DESC, id DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    (SELECT json_group_array(id) FROM page) AS ids;

-- name: stored_events
-- In the order of the ids, so that all the pages of a replay walk through the table once.
SELECT id FROM events
WHERE
    id > :after AND +received_at >= :since AND +received_at < :until
    AND (:tenant_id IS NULL OR +tenant_id = :tenant_id)
ORDER BY id
LIMIT :limit;

-- name: remove_events
-- Oldest first, without those that a gathering holds: one that began later holds none that are so old.
WITH held AS (
    SELECT member.value AS id
    FROM event_gatherings AS g
    CROSS JOIN json_each(g.event_ids) AS member
    WHERE g.first_at < :before
)

DELETE FROM events
WHERE id IN (
    SELECT id FROM events
    WHERE received_at < :before AND id NOT IN (SELECT id FROM held)
    ORDER BY received_at, id
    LIMIT :limit
)
RETURNING id;

-- name: remove_flows
-- Keys of flow control that say nothing any more.
DELETE FROM event_flows
WHERE (handler_id, flow_key) IN (
    SELECT handler_id, flow_key FROM event_flows
    WHERE gathering_id IS NULL AND expires_at <= :now
    ORDER BY expires_at
    LIMIT :limit
);
