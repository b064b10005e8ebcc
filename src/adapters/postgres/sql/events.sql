-- name: known_events
-- What is there already of what comes in, by its id or by its tenant's key.
SELECT * FROM events WHERE id = ANY(:ids::uuid[])
UNION ALL
SELECT e.*
FROM unnest(:tenant_ids::text[], :idempotency_keys::text[]) AS wanted (tenant_id, idempotency_key)
JOIN events AS e ON e.tenant_id = wanted.tenant_id AND e.idempotency_key = wanted.idempotency_key;

-- name: insert_events
-- In the order of their keys, so that of two transactions with the same ones neither waits for the other in a circle.
INSERT INTO events (
    id, tenant_id, name, source, subject, origin, idempotency_key, occurred_at, received_at, depth, cause,
    correlation_id, trace_id, span_id, parent_span_id, trace_flags, tracestate, matched, attributes, data, impact
)
SELECT * FROM unnest(
    :id::uuid[], :tenant_id::text[], :name::text[], :source::text[], :subject::text[], :origin::text[],
    :idempotency_key::text[], :occurred_at::timestamptz[], :received_at::timestamptz[], :depth::smallint[],
    :cause::uuid[], :correlation_id::text[], :trace_id::text[], :span_id::text[], :parent_span_id::text[],
    :trace_flags::smallint[], :tracestate::text[], :matched::integer[], :attributes::json[], :data::json[],
    :impact::json[]
) AS n (
    id, tenant_id, name, source, subject, origin, idempotency_key, occurred_at, received_at, depth, cause,
    correlation_id, trace_id, span_id, parent_span_id, trace_flags, tracestate, matched, attributes, data, impact
)
ORDER BY n.idempotency_key, n.tenant_id, n.id;

-- name: save_impacts
-- What more an event has touched.
UPDATE events AS e
SET matched = s.matched, impact = s.impact
FROM unnest(:id::uuid[], :matched::integer[], :impact::json[]) AS s (id, matched, impact)
WHERE e.id = s.id;

-- name: lock_events
-- Those that are shown to handlers again, in the order of the ids.
SELECT * FROM events WHERE id = ANY(:ids::uuid[]) ORDER BY id FOR NO KEY UPDATE;

-- name: events_by_ids
-- In the order of the ids.
SELECT e.*
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
JOIN events AS e ON e.id = wanted.id
ORDER BY wanted.place;

-- name: matching_events
-- One row with the total and the ids of a page. Every plan is made for its values, so that what asks for nothing is
-- gone before an index is chosen that has them in order.
WITH matching AS NOT MATERIALIZED (
    SELECT id, received_at
    FROM events
    WHERE
        tenant_id = :tenant_id
        AND (:name::text[] IS NULL OR name = ANY(:name))
        AND (:name_prefix::text IS NULL OR starts_with(name, :name_prefix))
        AND (:source::text[] IS NULL OR source = ANY(:source))
        AND (:subject::text[] IS NULL OR subject = ANY(:subject))
        AND (:matched::boolean IS NULL OR (matched > 0) = :matched)
        AND (:received_after::timestamptz IS NULL OR received_at >= :received_after)
        AND (:received_before::timestamptz IS NULL OR received_at <= :received_before)
),

page AS (
    SELECT id
    FROM matching
    WHERE :cursor_id::uuid IS NULL OR (received_at, id) < (:cursor_instant::timestamptz, :cursor_id)
    ORDER BY received_at DESC, id DESC
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    ARRAY(SELECT id FROM page) AS ids;

-- name: stored_events
-- A page of a stretch of the past, oldest id first.
SELECT *
FROM events
WHERE
    received_at >= :since AND received_at < :until AND id > :after
    AND (:tenant_id::text IS NULL OR tenant_id = :tenant_id)
ORDER BY id
LIMIT :limit;

-- name: remove_events
-- What another node is removing meanwhile is its own, and not counted twice. What is old and still waits, of which
-- there is little, is found out first, once: what began to gather later holds nothing so old.
DELETE FROM events
WHERE id = ANY(ARRAY(
    SELECT id
    FROM events
    WHERE
        received_at < :before
        AND id <> ALL(ARRAY(
            SELECT e.id
            FROM events AS e
            WHERE
                e.received_at < :before
                AND e.id IN (SELECT unnest(g.event_ids) FROM event_gatherings AS g WHERE g.first_at < :before)
        ))
    ORDER BY received_at, id
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
))
RETURNING id;

-- name: remove_flows
-- Keys of flow control that say nothing any more.
DELETE FROM event_flows
WHERE ctid = ANY(ARRAY(
    SELECT f.ctid
    FROM event_flows AS f
    WHERE f.gathering_id IS NULL AND f.expires_at <= :now
    ORDER BY f.expires_at
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
));

-- name: lock_flows
-- The first lock of a transaction. A key that is not known yet gets its row here, so that whoever comes with it at the
-- same time waits.
INSERT INTO event_flows AS f (handler_id, flow_key, expires_at)
SELECT wanted.handler_id, wanted.flow_key, :now
FROM unnest(:handler_ids::uuid[], :flow_keys::text[]) AS wanted (handler_id, flow_key)
ORDER BY wanted.handler_id, wanted.flow_key COLLATE "C"
ON CONFLICT (handler_id, flow_key) DO UPDATE SET expires_at = f.expires_at
RETURNING f.handler_id, f.flow_key, f.seen_until, f.rate_limit_at, f.throttle_at, f.gathering_id;

-- name: gatherings
-- What keys that are locked have open.
SELECT * FROM event_gatherings WHERE id = ANY(:ids::uuid[]);

-- name: save_flows
-- What is remembered of keys that are locked.
UPDATE event_flows AS f
SET
    seen_until = s.seen_until, rate_limit_at = s.rate_limit_at, throttle_at = s.throttle_at,
    gathering_id = s.gathering_id,
    expires_at = greatest(s.seen_until, s.rate_limit_at, s.throttle_at, :now::timestamptz)
FROM unnest(
    :handler_id::uuid[], :flow_key::text[], :seen_until::timestamptz[], :rate_limit_at::timestamptz[],
    :throttle_at::timestamptz[], :gathering_id::uuid[]
) AS s (handler_id, flow_key, seen_until, rate_limit_at, throttle_at, gathering_id)
WHERE f.handler_id = s.handler_id AND f.flow_key = s.flow_key;

-- name: save_gatherings
-- Events that wait, for the first time or one more; lists cannot be of several lengths in one array.
INSERT INTO event_gatherings AS g (id, handler_id, flow_key, tenant_id, event_ids, first_at, due_at, superseded)
SELECT n.id, n.handler_id, n.flow_key, n.tenant_id, n.event_ids::uuid[], n.first_at, n.due_at, n.superseded
FROM unnest(
    :id::uuid[], :handler_id::uuid[], :flow_key::text[], :tenant_id::text[], :event_ids::text[],
    :first_at::timestamptz[], :due_at::timestamptz[], :superseded::integer[]
) AS n (id, handler_id, flow_key, tenant_id, event_ids, first_at, due_at, superseded)
ORDER BY n.id
ON CONFLICT (id) DO UPDATE
SET event_ids = excluded.event_ids, due_at = excluded.due_at, superseded = excluded.superseded;

-- name: lock_flows_of_gatherings
-- The keys of gatherings that are to be closed, before these.
SELECT f.flow_key
FROM event_gatherings AS g
JOIN event_flows AS f ON f.handler_id = g.handler_id AND f.flow_key = g.flow_key
WHERE g.id = ANY(:ids::uuid[])
ORDER BY f.handler_id, f.flow_key
FOR NO KEY UPDATE OF f;

-- name: lock_gatherings
-- As they are once nobody can add to them any more.
SELECT * FROM event_gatherings WHERE id = ANY(:ids::uuid[]) ORDER BY id FOR UPDATE;

-- name: close_gatherings
-- What is acted upon, or never will be, and the keys that had it open.
WITH closed AS (
    DELETE FROM event_gatherings WHERE id = ANY(:ids::uuid[]) RETURNING id, handler_id, flow_key
)

UPDATE event_flows AS f
SET gathering_id = NULL
FROM closed
WHERE f.handler_id = closed.handler_id AND f.flow_key = closed.flow_key AND f.gathering_id = closed.id;

-- name: due_gatherings
-- Earliest first from behind one on, with whether their handler still acts: as many as have so many bytes of data
-- together, but at least one.
WITH due AS (
    SELECT
        g.*, h.enabled,
        CASE
            WHEN h.enabled
                THEN (SELECT coalesce(sum(e.data_bytes), 0) FROM events AS e WHERE e.id = ANY(g.event_ids))
            ELSE 0
        END AS bytes
    FROM event_gatherings AS g
    JOIN event_handlers AS h ON h.id = g.handler_id
    WHERE g.due_at <= :now AND (g.due_at, g.id) > (:after_at::timestamptz, :after_id::uuid)
    ORDER BY g.due_at, g.id
    LIMIT :limit
),

counted AS (
    SELECT *, sum(bytes) OVER up_to_here AS together, row_number() OVER up_to_here AS place
    FROM due
    WINDOW up_to_here AS (ORDER BY due_at, id)
)

SELECT * FROM counted WHERE together <= :bytes::bigint OR place = 1 ORDER BY place;

-- name: next_gathering
-- When the earliest is due that is not among these.
SELECT (
    SELECT due_at
    FROM event_gatherings
    WHERE (due_at, id) > (:after_at::timestamptz, :after_id::uuid)
    ORDER BY due_at, id
    LIMIT 1
) AS due_at;
